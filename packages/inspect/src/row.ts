import type { Side } from "@parlance/wire";

/** What the page gets of one entry of a log. The whole entry is asked for by its number. */
export interface Row {
  /** Its number in the log, from 1. */
  readonly n: number;
  /** Milliseconds since the log began. */
  readonly t: number;
  /** Connection. */
  readonly c: number;
  readonly from: Side;
  /** The kind of the recording's line; `fault` is a disturbance of the inspector's own, which no recording has. */
  readonly kind: string;
  /** The operation or channel. */
  readonly call?: string;
  readonly session?: string;
  /** The message's name. */
  readonly type?: string;
  readonly unknown?: true;
  /** How the message was brought to its documented form by the contract's reading rules, where its peer wrote another. */
  readonly rereading?: string;
  /** The beginning of its text. */
  readonly text: string;
  /** Characters of the whole text. */
  readonly size: number;
  /** The status of an answer; also on the body of a refusal. */
  readonly status?: number;
  /** The request opens a WebSocket. */
  readonly socket?: true;
  /** The request joins a stream or channel again. */
  readonly resumes?: true;
  readonly flaws?: readonly RowFlaw[];
  /** The text may hold edits of files. */
  readonly edits?: true;
  /** The message asks and waits for an answer. */
  readonly ask?: RowAsk;
  /** Rows whose asks this one answered. */
  readonly settles?: readonly number[];
}

export interface RowFlaw {
  readonly rule: string;
  readonly message: string;
  /** JSON Pointers into the text. */
  readonly at?: readonly string[];
}

export interface RowAsk {
  readonly by: Side;
  /** The name of the message that asks. */
  readonly ask: string;
  /** The value that its answer repeats. */
  readonly key?: unknown;
}

/** A line of the feed. */
export type FeedLine =
  | { readonly row: Row }
  /** So many rows are no longer held. */
  | { readonly dropped: number }
  /** The log's state at the end of an opened file. */
  | { readonly ending: string };

/** The long rows whose whole text holds the words that were searched for, up to a row's number. */
export interface Found {
  readonly rows: readonly number[];
  readonly last: number;
}

/** A log that the page can show. */
export interface LogInfo {
  readonly id: string;
  readonly name: string;
  readonly live: boolean;
}

/** The longest text of a row, in characters. */
export const MAX_ROW_TEXT = 2000;
