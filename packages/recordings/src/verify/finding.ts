import type { AnyMessage } from "@parlance/wire";
import type { Asked } from "../conversation.js";
import type { LeftOut } from "../left-out.js";
import type { HeaderList } from "../recording.js";

/** What a finding is about. */
export const RULES = ["schema", "order", "exchange", "end", "status", "header", "route", "form"] as const;

export type Rule = (typeof RULES)[number];

/** A problem of a recording. */
export interface Finding {
  /** From 1. */
  readonly line: number;
  readonly connection: number;
  readonly rule: Rule;
  readonly message: string;
  /** JSON Pointers to the schema errors in the body. */
  readonly at?: readonly string[];
}

/** How the contract reads an entry: the call that it belongs to, and its message. */
export interface Note {
  readonly line: number;
  readonly connection: number;
  /** The operation or channel. */
  readonly call: string;
  /** The value that names the session, where the contract has one. */
  readonly session?: string | undefined;
  /** Parameters and body of the call. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The message's name; of a broken one too, where it is known. Absent for the call itself. */
  readonly type?: string | undefined;
  /** The message in memory. */
  readonly message?: AnyMessage | undefined;
  /** The contract does not define the message. */
  readonly unknown?: true | undefined;
  /** How the message was brought to its documented form, where its peer wrote another. */
  readonly rereading?: string | undefined;
}

export interface Totals {
  connections: number;
  messages: number;
  /** Messages that the contract does not define. They are allowed. */
  unknown: number;
  /** How many of these there are, by the name that they give themselves. */
  unknownTypes: Record<string, number>;
  /** Bodies and messages that the recording leaves out. They are not checked. */
  readonly leftOut: LeftOut;
}

/** Reports a finding at the current line. */
export type Find = (rule: Rule, message: string, at?: readonly string[]) => void;

/** A connection that is open. */
export interface Open {
  readonly c: number;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly socket: boolean;
  /** The key by which the stream or channel can be resumed. */
  readonly key: string | undefined;
  /** A request that resumes or cancels, which no contract has. */
  readonly resuming: "stream" | "offer" | "cancel" | undefined;
  /** Whether a socket is that of a channel that had one before. */
  readonly rejoined?: boolean;
  asked?: Asked | undefined;
  /** The body of the request has been read, or there is none. */
  bound: boolean;
  body?: string;
  /** There is a body, whether or not it is text. */
  hasBody?: true;
  /** A body or message was left out of the recording: it may have been what is missing. */
  hasGaps?: true;
  status?: number;
  answer?: HeaderList;
  /** The number of messages sent by each side. */
  readonly sent: { client: number; server: number };
  last?: string;
  ended?: string;
}
