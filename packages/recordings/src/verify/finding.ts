import type { Asked } from "../conversation.js";
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
  status?: number;
  answer?: HeaderList;
  /** The number of messages sent by each side. */
  readonly sent: { client: number; server: number };
  last?: string;
  ended?: string;
}
