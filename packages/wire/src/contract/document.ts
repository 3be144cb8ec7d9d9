import type { Contract, Side } from "./contract.js";
import type { Json, SchemaName, SchemaObject } from "./schema.js";

/** A loaded contract with its prose and schemas, for linting and generating. `load` returns it. */
export interface ContractDocument {
  readonly contract: Contract;
  /** The parsed `contract.json`: titles, summaries and descriptions, with schemas named by file. */
  readonly source: Readonly<Record<string, unknown>>;
  /** By title, in the order of their files. Each has `$id` = `/<contract name>/<file>`. */
  readonly schemas: Readonly<Record<SchemaName, SchemaObject>>;
  /** Schema title -> file relative to the contract's folder. */
  readonly files: Readonly<Record<SchemaName, string>>;
  readonly transcripts: Readonly<Record<string, readonly TranscriptLine[]>>;
}

/** A line of `transcripts/*.jsonl`: one step of a conversation, with its side and exact bytes. */
export type TranscriptLine =
  | { readonly note: string }
  /** The client calls an operation or opens a channel. `input` is flat; `request` is method, target and body on the wire. */
  | {
      readonly from: "client";
      readonly call: string;
      readonly input: Readonly<Record<string, Json>>;
      readonly request?: { readonly method: string; readonly target: string; readonly body?: string };
      /** Whether the wire form is only read, never written. */
      readonly read?: true;
    }
  /** The server answers an operation that has no stream: `body` is the exact text. */
  | {
      readonly from: "server";
      readonly status: number;
      readonly type?: string;
      readonly body: string;
      readonly answer?: Json;
      readonly read?: true;
    }
  /** One message: `wire` is the exact text of the frame (an SSE block with its blank line, or a WebSocket text), `message` its form in memory, absent where it is unknown. */
  | {
      readonly from: Side;
      readonly wire: string;
      readonly message?: Readonly<Record<string, Json>>;
      readonly read?: true;
      readonly unknown?: true;
    }
  /** The stream or socket ends. */
  | { readonly from: Side; readonly end: "done" | "close" | "cut" };
