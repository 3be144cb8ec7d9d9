import type { AnyContract, AnyMessage, AskOptions, Cursor, Faulted, Gap, Port, Refusal, Session } from "@parlance/wire";
import type { Answered, Waiting } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import type { Called } from "./hooks.js";
import type { Answer } from "./http/answer.js";
import type { HttpRequest } from "./http/request.js";
import type { Limits } from "./limits.js";
import type { EventLog } from "./resume/event-log.js";
import type { LastCalls } from "./shutdown.js";

// The ports of the base. Plain delivery implements the first two in `stream/direct.ts` and `channel/direct.ts`, and `session/local.ts`
// the third; `resume/` implements them for conversations that outlive a connection. What outlives a server comes through the last, `Cluster`.

/** A handler that produces a stream. */
export interface Production {
  /** Blocks of text, as many as are ready at a time. `id` makes the id of each from its place, counted from 1. */
  blocks(id?: (seq: number) => string): AsyncIterator<readonly string[]>;
  /** Headers are due before the first message. */
  readonly headersDue: boolean;
  /** The reader has everything up to a place. */
  delivered(seq: number): void;
  /** Lets go of the call, whose input may be large. Its handler is done; `delivered` still counts. */
  release(): void;
}

/** Starts a stream's handler in a scope. Resolves when headers are due: with the first message, or after a heartbeat without one. */
export type Produce = (scope: Scope) => Promise<Production>;

/** How a stream reaches its readers. */
export interface StreamDelivery {
  /** Answers a call that streams. `call` closes when its connection does. Throws what refuses it. */
  deliver(called: Called, request: HttpRequest, call: Scope, produce: Produce): Promise<Answer>;
}

/** The decision on a WebSocket handshake. */
export type Accepted =
  | { readonly refused: Faulted & { readonly headers: Readonly<Record<string, string>> } }
  | {
      /** Holds the conversation over the open socket. */
      readonly run: (port: Port) => void;
      /** The subprotocol to select, if the client offered one of ours. */
      readonly protocol?: string;
    };

/** How a channel reaches its client. */
export interface ChannelDelivery {
  /** Answers an HTTP request for a channel; undefined where a plain socket has to be opened instead. */
  offer(called: Called, call: Scope): Promise<Answer | undefined>;
  /** Decides on a handshake with a ticket; undefined for an invalid ticket, and for that of another owner than the handshake's. */
  redeem(ticket: string, request: Request, owner: string | undefined, call: Scope): Promise<Accepted | undefined>;
  /** Decides on a handshake without a ticket. Throws what refuses it. */
  accept(called: Called, call: Scope): Accepted | Promise<Accepted>;
}

export type AnySession = Session<AnyMessage, Record<string, AnyMessage>>;

/** A message that was sent to a session. One object for all its readers, so that it is encoded once. */
export interface Sent {
  readonly message: AnyMessage;
  /** Grows with every message that its server sends to sessions. */
  readonly place: number;
  /** Characters of its JSON. */
  readonly weight: number;
  /** Confirms that a reader has this message and all earlier ones sent to it. Later readers then do not get it. */
  had(): void;
}

/** A reader of a session: a stream, or a channel that can also ask. */
export interface Subscriber {
  /** Returns a promise when no more should be sent until it settles: there is room, or the reader is gone. */
  send(sent: Sent): Promise<unknown> | undefined;
  ask?(message: AnyMessage, options?: AskOptions<AnyMessage>): Promise<AnyMessage>;
  /** Ends the subscription: the session is over, or has lost messages for this reader. */
  end(error?: unknown): void;
}

/** An open ask that an operation decides. */
export interface Claimed extends Pick<Waiting, "message"> {
  /** Lets another decision in, where this one was not made. Absent where a second answer is for the next ask. */
  release?(): void;
}

/** The sessions of one app: their readers, the messages that none has confirmed, and the asks that are open. */
export interface SessionStore {
  /** What a handler gets as `call.session(id)`, by the session's name. */
  session(key: string, id: string): AnySession;
  /**
   * Opens an ask that `show` sends to one reader, until the scope closes. Throws `Refusal` where too many are open; rejects where it is not
   * answered.
   */
  ask(
    key: string,
    message: AnyMessage,
    show: () => unknown,
    scope: Scope,
    options?: AskOptions<AnyMessage>,
  ): Promise<AnyMessage>;
  /** Reads a session until the scope closes. A new reader gets what no reader has confirmed, and the asks that are open. */
  subscribe(key: string, subscriber: Subscriber, scope: Scope): void;
  /**
   * Waits to read a session until the scope closes, or the returned function is called. When the session ends before, `onEnd` may subscribe
   * to what was sent until then.
   */
  attend(key: string, onEnd: () => void, scope: Scope): () => void;
  /**
   * Resolves once other servers know that this one reads the session or sends to it, or pub/sub has failed. A
   * reader is let in then, and an operation answered: what its caller does next on another server comes after it.
   */
  joined?(key: string): Promise<unknown> | undefined;
  /**
   * Finds the open ask that an operation answers, and keeps other decisions about it out. Throws `Refusal` (409) where it is settled or
   * another call decides it: the first answer counts.
   */
  claim(key: string, reply: AnyMessage): Claimed | undefined | Promise<Claimed | undefined>;
  /** Settles the ask that an operation answers. Throws `Refusal` (409) where another answer was first. */
  settle(key: string, reply: AnyMessage): void | Promise<void>;
  /** Ends the session for all its readers, and fails its open asks. */
  end(key: string): void;
  /** Has the other servers end what an owner holds. Rejects where one does not confirm. */
  revoke?(owner: string): Promise<void>;
}

/** The sessions of one server, as a cluster shares them. */
export interface LocalStore extends SessionStore {
  /** Throws `Violation` for a message that no session may have. */
  check(message: AnyMessage, sent?: Sent): unknown;
  session(key: string): AnySession;
  claim(key: string, reply: AnyMessage): Claimed | undefined;
  settle(key: string, reply: AnyMessage): void;
  /** Finds the open ask that an operation answers. Throws `Refusal` (409) where it is settled. */
  find(key: string, reply: AnyMessage): Answered | undefined;
  /** The last message that was confirmed: a new reader begins after it. */
  confirmed(key: string): number;
  /** Notes that a reader has every message up to a place. */
  confirm(key: string, place: number): void;
  /** What no reader has confirmed. */
  unconfirmed(key: string): readonly Sent[];
  /** Ends a session. `later` chooses the subscribers that its caller ends. */
  end(key: string, later?: () => ReadonlySet<Subscriber>, reason?: unknown): void;
}

export interface RemoteEvents {
  /** A reader on another server has everything up to a place. */
  reach?(seq: number, reader: string): void;
  /** A reader on another server has left. */
  leave?(reader: string): void;
  cancel?(): void;
  /** The handler on another server has refused. */
  refused?(refusal: Refusal): void;
}

/** Streams on other servers of a cluster. */
export interface RemoteStreams {
  /** Receives events of a stream until the scope closes. Never rejects: it retries. */
  listen(name: string, scope: Scope, on: RemoteEvents): Promise<void>;
  /** Tells servers that wait for the stream's first message that its handler has refused. */
  refuse(name: string, refusal: Refusal): void;
  /** Tells the stream's server how far a reader here is, until the scope closes. */
  report(name: string, after: number, reader: Scope): (seq: number) => void;
  cancel(name: string): Promise<boolean>;
}

/** Where a request comes from. A ticket is valid only there. */
export interface Place {
  readonly pathname: string;
  readonly origin: string | null;
  /** The origin is the server's own. */
  readonly own: boolean;
}

/** A client's request to resume a conversation. */
export interface Asked {
  readonly name: string;
  readonly place: Place;
  /** The digest of the ticket that the client is about to get: the ticket itself is known to the answering server alone. */
  readonly ticket: string;
  /** The frames that the client has. */
  readonly cursor?: Cursor | undefined;
}

/** A conversation to resume, or the frames that its client has lost for good. */
export type Found =
  | {
      readonly epoch: string;
      /** Frames that this server has received. */
      readonly received: number;
      /** The prefix of the ticket that names this server. */
      readonly server: string;
    }
  | { readonly gap: Gap };

/** A ticket as a socket shows it. */
export interface Shown {
  /** The digest of the ticket. */
  readonly ticket: string;
  readonly place: Place;
  /** The owner of the socket, where its handshake has credentials. */
  readonly owner?: string | undefined;
}

/** The conversations of this server. */
export interface LocalChannels {
  /** Undefined where there is none with this name, or one of another epoch than the cursor's. */
  find(asked: Asked): Found | undefined;
  /** Redeems a ticket: returns a function that takes the socket, or closes it and returns false. Undefined for an invalid ticket. */
  take(shown: Shown): ((port: Port) => boolean) | undefined;
  cancel(name: string): boolean;
}

/** Channels on other servers of a cluster. */
export interface RemoteChannels {
  find(asked: Asked, call: Scope): Promise<Found | undefined>;
  /** Redeems a ticket of another server, which its prefix names. */
  redeem(server: string, shown: Shown, call: Scope): Promise<Accepted | undefined>;
  cancel(name: string): Promise<boolean>;
  /** The prefix of this server's tickets, by which the other servers find it. */
  readonly server: string;
  /** Resolves when the other servers can ask for this one's channels, or pub/sub is down. */
  listen(): Promise<unknown>;
}

/** Connects an app with the other servers behind the same balancer. */
export interface Cluster {
  /** Keeps the messages of resumable streams for all servers. */
  readonly log?: EventLog | undefined;
  /** For `serve`, which calls it once for each app. */
  join(joining: Joining): Joined;
}

/** What an app gives its cluster. */
export interface Joining {
  readonly contract: AnyContract;
  readonly limits: Limits;
  /** Closes with the app. */
  readonly root: Scope;
  readonly lastCalls: LastCalls;
  report(error: unknown, source: string): void;
  /** Makes the sessions of this server. */
  makeLocal(onIdle: (key: string) => void): LocalStore;
  /** Ends what an owner holds on this server. */
  revoke(owner: string): void;
}

/** What is on the other servers. */
export interface Joined {
  readonly sessions: SessionStore;
  readonly streams: RemoteStreams;
  channels(local: LocalChannels): RemoteChannels;
}
