import type { Contract, SchemaObject } from "@parlance/wire";
import type { ReviewView } from "./review.js";
import type { LogInfo } from "./row.js";

/** What the page needs to know of a contract: its calls and messages, and their schemas for the forms. */
export interface PageContract
  extends Pick<
    Contract,
    "name" | "tag" | "session" | "messages" | "operations" | "channels" | "exchanges" | "methods"
  > {
  readonly schemas: Readonly<Record<string, SchemaObject>>;
  /** Name of an operation or channel -> its sentence in the contract. */
  readonly summaries: Readonly<Record<string, string>>;
  /** Name of an operation or channel -> what the contract says of its parameters beside their type. */
  readonly parameters: Readonly<Record<string, Readonly<Record<string, ParameterNote>>>>;
}

/** What a parameter may be, and what it is where it is left out. */
export interface ParameterNote {
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
}

/** What the page shows when it opens. */
export interface PageState {
  readonly contract?: PageContract;
  /** The server behind the proxy, and where clients connect. Absent where recordings are opened only. */
  readonly target?: string;
  readonly proxy?: string;
  /** Whether transcripts can be written. */
  readonly cases?: string;
  readonly logs: readonly LogInfo[];
  /** The edits of one text: the page shows nothing else. */
  readonly review?: ReviewView;
}
