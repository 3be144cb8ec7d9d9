import type { Json } from "@parlance/wire";

/** A message in memory: flat, with its name as `type`. */
export type JsonMessage = Readonly<Record<string, Json>> & { readonly type: string };

/** The next invocation of an operation or channel: what its handler does. The last act of a name is repeated. */
export interface Act {
  readonly call: string;
  readonly steps: readonly ServerStep[];
}

/** One step of a handler. After the last one the handler returns. */
export type ServerStep =
  /** Bytes are base64. The headers are those that the contract declares. */
  | { readonly answer: Json; readonly headers?: Readonly<Record<string, Json>> }
  | { readonly refuse: Refused }
  | { readonly send: JsonMessage }
  /** Sends a message and waits for its answer, which goes into the report. */
  | { readonly ask: JsonMessage }
  /** Waits for a message of this type from the client. */
  | { readonly receive: string }
  /** Waits until this operation has been called once more. */
  | { readonly call: string }
  /** The handler throws. */
  | { readonly fail: true }
  /** Waits until the caller has gone. */
  | { readonly hold: true };

export interface Refused {
  readonly status: number;
  readonly text: string;
  readonly code?: string;
  readonly details?: Json;
  readonly recoverable?: boolean;
}

/** What a fixture's handler was given: the answer to a report line. */
export interface Called {
  readonly call: string;
  readonly input: Readonly<Record<string, Json>>;
  /** The body of an upload, in base64. */
  readonly bytes?: string;
  /** What the client sent on the channel. */
  readonly messages?: readonly JsonMessage[];
  /** What answered each `ask`, in their order. */
  readonly answers?: readonly JsonMessage[];
  /** Whether the caller went before the handler returned. */
  readonly gone?: boolean;
}

/** What a client does once its call is open. After the last step it reads to the end. */
export type ClientStep =
  | { readonly send: JsonMessage }
  /** Sends a message and waits for its answer. */
  | { readonly ask: JsonMessage }
  /** Waits for so many more messages. */
  | { readonly receive: number }
  | { readonly call: string; readonly input: Readonly<Record<string, Json>> }
  | { readonly close: true };

/** A call that a client makes. */
export interface ClientCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, Json>>;
  readonly steps: readonly ClientStep[];
}

/**
 * What a client reports. The result of an operation is the only message: bytes in base64, and where the answer declares headers
 * `{ headers, body }`.
 */
export interface Told {
  readonly messages: readonly Json[];
  readonly error: ToldError | null;
}

export interface ToldError {
  /** `refusal`: the server said no. `violation`: it broke the contract. `disconnected`: no answer, or no end. */
  readonly kind: "refusal" | "violation" | "disconnected";
  readonly status?: number;
  readonly code?: string;
  readonly text?: string;
}
