import type { Session } from "@parlance/contract";
import type { AnyMessage, Faulted, Port } from "@parlance/wire";
import type { Waiting } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import type { Answer } from "./http/answer.js";
import type { Called } from "./options.js";

// The three ports of the base. Plain delivery implements the first two in `stream/direct.ts` and `channel/direct.ts`, and `session/local.ts`
// the third; `resume/` and `cluster/` implement them for conversations that outlive a connection or a server.

/** A handler that produces a stream. */
export interface Production {
  /** Blocks of text, as many as are ready at a time. `id` makes the id of each from its place, counted from 1. */
  blocks(id?: (seq: number) => string): AsyncIterator<readonly string[]>;
  /** Headers are due before the first message. */
  readonly headersDue: boolean;
  /** The reader has everything up to a place. */
  delivered(seq: number): void;
  /** Messages that were sent to the session and that no reader has got. */
  undelivered(): readonly Sent[];
}

/** Starts a stream's handler in a scope. Resolves when headers are due: with the first message, or after a heartbeat without one. */
export type Produce = (scope: Scope) => Promise<Production>;

/** How a stream reaches its readers. */
export interface StreamDelivery {
  /** Answers a call that streams. `call` closes when its connection does. Throws what refuses it. */
  deliver(called: Called, call: Scope, produce: Produce): Promise<Answer>;
}

/** The decision on a WebSocket handshake. */
export type Accepted =
  | { readonly refused: Faulted & { readonly headers: Readonly<Record<string, string>> } }
  | {
      /** Holds the conversation over the open socket. */
      readonly run: (port: Port) => void;
      /** The subprotocol to select, where one was offered that is ours. */
      readonly protocol?: string;
    };

/** How a channel reaches its client. */
export interface ChannelDelivery {
  /** Answers an HTTP request for a channel; undefined where a plain socket has to be opened instead. */
  offer(called: Called, call: Scope): Promise<Answer | undefined>;
  /** Decides on a handshake with a ticket; undefined for an invalid ticket. */
  redeem(ticket: string, request: Request, call: Scope): Promise<Accepted | undefined>;
  /** Decides on a plain handshake. Throws what refuses it. */
  accept(called: Called, call: Scope): Accepted;
}

export type AnySession = Session<AnyMessage, Record<string, AnyMessage>>;

/** One message to all readers of a session. */
export interface Batch {
  /** Messages of the session store are counted: a reader that came after this one was not sent it. */
  readonly place: number;
}

/** A message, and the batch in which it was sent to readers. */
export interface Sent {
  readonly message: AnyMessage;
  readonly batch?: Batch | undefined;
}

/** A reader of a session: a stream, or a channel that can also ask. */
export interface Subscriber {
  /** All subscribers of one message get the same `batch`, so that it is encoded once. */
  send(message: AnyMessage, batch: Batch): void;
  ask?(message: AnyMessage, options?: { readonly signal?: AbortSignal }): Promise<AnyMessage>;
  /** The session is over. */
  end(): void;
}

export type OpenAskFound = Pick<Waiting, "message">;

/** The sessions of one app: their readers, the messages that wait for one, and the asks that are open. */
export interface SessionStore {
  /** What a handler gets as `call.session(key)`. */
  session(key: string): AnySession;
  /** Reads a session until the scope closes. A new reader gets what waits, and the asks that are open. */
  subscribe(key: string, subscriber: Subscriber, scope: Scope): void;
  /** Puts messages back that a reader was sent and never got. They wait for the next reader, unless another has them. */
  requeue(key: string, messages: readonly Sent[]): void;
  /** Finds the open ask that an operation answers. Throws `Refusal` (409) where it is settled: the first answer counts. */
  find(key: string, reply: AnyMessage): OpenAskFound | undefined | Promise<OpenAskFound | undefined>;
  /** Settles it. Throws `Refusal` (409) where another answer was first. */
  settle(key: string, reply: AnyMessage): void | Promise<void>;
  /** Ends the session for all its readers, and fails its open asks. */
  end(key: string): void;
}
