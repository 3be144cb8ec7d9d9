import type { Json } from "@parlance/contract";
import type { ClientStage, ServerStage } from "./stage.js";

/** `must`: the contract says so. `should`: a deployment needs it. `may`: only where the peer offers it. */
export type Level = "must" | "should" | "may";

interface About {
  /** Stable: it is built from names of the contract, not from counters over all cases. */
  readonly id: string;
  readonly level: Level;
  /** The expectation, as a sentence. */
  readonly title: string;
  /** The place in the contract's folder: a file and a JSON Pointer, or a line of a transcript. */
  readonly at: string;
  /** The fault of a peer that turns this case red. */
  readonly kill: string;
}

/** One expectation of a server. */
export interface ServerCase extends About {
  readonly side: "server";
  /** What the handlers of a fixture do. */
  readonly script: readonly Act[];
  /** Whether the case needs no fixture, and then whether it only calls operations without effect. */
  readonly live?: "safe" | "write";
  run(stage: ServerStage): Promise<void>;
}

/** One expectation of a client. */
export interface ClientCase extends About {
  readonly side: "client";
  run(stage: ClientStage): Promise<void>;
}

export type Case = ServerCase | ClientCase;

/** A message in memory: flat, with its name as `type`. */
export type Said = Readonly<Record<string, Json>> & { readonly type: string };

/** The next invocation of an operation or channel: what its handler does. The last act of a name is repeated. */
export interface Act {
  readonly call: string;
  readonly steps: readonly ServerStep[];
}

/** One step of a handler. After the last one the handler returns. */
export type ServerStep =
  | { readonly answer: Json }
  | { readonly refuse: Refused }
  | { readonly send: Said }
  /** Sends a message and waits for its answer, which goes into the report. */
  | { readonly ask: Said }
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
  /** What the client sent on the channel. */
  readonly messages?: readonly Said[];
  /** What answered each `ask`, in their order. */
  readonly answers?: readonly Said[];
  /** Whether the caller went before the handler returned. */
  readonly gone?: boolean;
}

/** What a client does once its call is open. After the last step it reads to the end. */
export type ClientStep =
  | { readonly send: Said }
  /** Sends a message and waits for its answer. */
  | { readonly ask: Said }
  /** Sends several messages at once and waits for all their answers, which go into `messages` in the order of the asks. */
  | { readonly asks: readonly Said[] }
  /** Waits for so many more messages. */
  | { readonly receive: number }
  | { readonly call: string; readonly input: Readonly<Record<string, Json>> }
  | { readonly close: true };

/** What a client is told to do. */
export interface ClientCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, Json>>;
  readonly script: readonly ClientStep[];
}

/** What a client reports. The result of an operation is the only message. */
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

/** An expectation that was not met. */
export class Unmet extends Error {
  override readonly name = "Unmet";
  readonly expected: string;
  readonly came: string;
  constructor(expected: string, came: unknown) {
    const shown = typeof came === "string" ? came : (JSON.stringify(came) ?? String(came));
    super(`expected ${expected}, but came ${shown}`);
    this.expected = expected;
    this.came = shown.length > 2000 ? `${shown.slice(0, 2000)}…` : shown;
  }
}

/** The peer does not offer what the case is about. */
export class NotOffered extends Error {
  override readonly name = "NotOffered";
}

export function meet(holds: boolean, expected: string, came: unknown): asserts holds {
  if (!holds) throw new Unmet(expected, came);
}
