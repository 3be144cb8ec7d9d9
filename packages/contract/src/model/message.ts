import type { FaultPlaces } from "./fault.js";
import type { Json } from "./json.js";
import type { SchemaName } from "./schema.js";

/** Who wrote something. The client is the editor's side, the server the agent's. */
export type Side = "client" | "server";

/** How a frame names its message. */
export type Tag =
  /** The SSE event name; the body does not repeat it. */
  | { readonly in: "event" }
  /** A property of the body. With `event`, the SSE event name says it too, and stands in where the property is missing. */
  | { readonly in: "property"; readonly property: string; readonly event?: true }
  /** Constants, required and forbidden fields; the first message in contract order that fits. */
  | { readonly in: "shape" };

export interface Message {
  readonly schema: SchemaName;
  /** Only with a shape tag. `const` is filled in on the way out and is not part of the message in memory. */
  readonly shape?: Shape;
  /** This message says that something failed, and where it says what. */
  readonly fault?: FaultPlaces;
}

export interface Shape {
  readonly const?: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly forbidden?: readonly string[];
}

/** Where an answer's text is: message name -> property. A `final` text replaces what was appended. */
export interface TextPlaces {
  readonly append: Readonly<Record<string, string>>;
  readonly final?: Readonly<Record<string, string>>;
}
