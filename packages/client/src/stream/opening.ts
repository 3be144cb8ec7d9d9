import type { MessageStream, ReopenOptions } from "@parlance/contract";
import type { AnyMessage, Input } from "@parlance/wire";
import type { ConnectOptions } from "../options.js";

/** An open stream. It distinguishes the end of its session from a cut. */
export interface Reading {
  readonly session: unknown;
  readonly closedBy: string | undefined;
  /** The operation that ended the session, once called. */
  ending?: Promise<unknown>;
}

export interface Opening {
  readonly input: Input;
  readonly options: ReopenOptions;
  /** Absent where nothing is resumed. */
  readonly key: string | undefined;
  readonly reading: Reading;
  /** Called with the milliseconds that the server asked for before a reconnect. */
  readonly over: (retry: number) => void;
}

/** Opens the stream of an operation with options that replace the caller's. */
export type Begin = (how: Partial<Opening>, connection: ConnectOptions) => MessageStream<AnyMessage>;

/** Whether this client has ended the stream's session. */
export async function sessionEnded({ closedBy, ending }: Reading): Promise<boolean> {
  if (closedBy === undefined || !ending) return false;
  return ending.then(
    () => true,
    () => false,
  );
}
