import type { AnyMessage, Input, Refusal, ReopenOptions } from "@parlance/wire";
import type { ConnectOptions } from "../options.js";
import type { Requests } from "../request.js";

/** A stream before it is presented to its reader. */
export interface StreamSource<M> {
  /** Resolves with headers of the answer, where the contract has some. */
  readonly opened: Promise<unknown>;
  /** Whether the stream was cancelled before its reader met the end. */
  readonly cancelled: boolean;
  readonly messages: {
    next(): Promise<IteratorResult<M>>;
    /** Returns all that has arrived, once there is at least one message. */
    batch(): Promise<IteratorResult<M[]>>;
  };
  /** Ends the stream, and drops its unread messages. */
  close(): void;
  text(messages: AsyncIterable<M>): Promise<string>;
  /** Returns the refusal in the last message that reports a failure. */
  failure(): Promise<Refusal | undefined>;
}

export interface Opening {
  /** The operation, where it is not the one that was called. */
  readonly name?: string;
  readonly input: Input;
  readonly options: ReopenOptions;
  /** Absent where nothing is resumed. */
  readonly key: string | undefined;
  /** Whether this client has ended the stream's session. */
  readonly sessionEnded: () => Promise<boolean>;
  /** Called with the milliseconds that the server asked for before a reconnect. */
  readonly over: (retry: number) => void;
}

/** Opens the stream of an operation with options that replace the caller's, by these requests. */
export type Begin = (how: Partial<Opening>, connection: ConnectOptions, requests: Requests) => StreamSource<AnyMessage>;
