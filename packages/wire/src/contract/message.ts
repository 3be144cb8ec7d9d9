import type { FaultPlaces } from "./fault.js";
import type { Json } from "./json.js";
import type { SchemaName } from "./schema.js";

/** The side that wrote something. The client is the editor, the server the agent. */
export type Side = "client" | "server";

/** The discriminator of a frame's message. */
export type Tag =
  /** The SSE event name; the body does not repeat it. */
  | { readonly in: "event" }
  /** A property of the body. With `event`, the SSE event name repeats it, and replaces a missing property. */
  | { readonly in: "property"; readonly property: string; readonly event?: true }
  /** Constants, required and forbidden fields; the first message in contract order that fits. */
  | { readonly in: "shape" };

export interface Message {
  readonly schema: SchemaName;
  /** Only with a shape tag. `const` is added when encoding and is not part of the message in memory. */
  readonly shape?: Shape;
  /** Marks a message that reports a failure, and locates its fields. */
  readonly fault?: FaultPlaces;
}

export interface Shape {
  readonly const?: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly forbidden?: readonly string[];
}

/** The location of an answer's text: message name -> property. A `final` text replaces the appended text. */
export interface TextPlaces {
  readonly append: Readonly<Record<string, string>>;
  readonly final?: Readonly<Record<string, string>>;
}
