import type { Side } from "@parlance/contract";
import type { AnyMessage, Input, Refusal, Unknown } from "@parlance/wire";
import type { EventLog } from "./log.js";
import type { Relay } from "./relay.js";

export interface ServeOptions {
  readonly hooks?: Hooks;
  /** Says who is calling, or throws `Refusal`. Returning undefined refuses with 401. Without it, everybody may call. */
  readonly authenticate?: (request: Request) => unknown;
  /** Writes a superset of the documented form, by the name that the contract gives it. */
  readonly profile?: string;
  /** Bytes of a request body, characters of a frame: 1 MiB unless told. */
  readonly maxMessageSize?: number;
  /** Characters that may wait, on either way of a channel or for a session that nobody reads: 1 Mi unless told. */
  readonly maxQueued?: number;
  /** Whether a client that asks for it may join a cut stream or channel again; true unless told. */
  readonly resume?: boolean;
  /** Milliseconds that a resumable stream or channel goes on without its client: 30,000 unless told. Then its handler is cancelled. */
  readonly grace?: number;
  /** Where the messages of resumable streams are kept: in this process unless told. */
  readonly log?: EventLog;
  /**
   * Joins this server with others behind the same balancer: a session's messages reach its readers on all of them, an operation that
   * answers an ask reaches the server that asks, a stream in a shared `log` goes on while its reader is with another server, and a channel
   * while its socket is.
   */
  readonly relay?: Relay;
  /** Names a principal, so that nobody joins what somebody else began: the principal itself if it is a string, else its `id`, else its JSON. */
  readonly identify?: (principal: unknown) => string;
  /** Milliseconds after which a stream's reader that takes nothing is cut: 30,000 unless told. With a key it may come back. */
  readonly stall?: number;
  /** Streams and channels that one principal may have open at a time: 64 unless told. Without `authenticate` there are no principals to count. */
  readonly maxStreams?: number;
  /** Milliseconds between the comments that keep an idle stream alive: 15,000 unless told, 0 for none. */
  readonly heartbeat?: number;
}

export const MAX_MESSAGE_SIZE = 1024 * 1024;
export const MAX_QUEUED = 1024 * 1024;
export const HEARTBEAT = 15_000;
export const GRACE = 30_000;
export const STALL = 30_000;
export const MAX_STREAMS = 64;

/** A call as hooks see it. */
export interface Called {
  /** The operation's or channel's name in the contract. */
  readonly operation: string;
  readonly input: Input;
  readonly request: Request;
  readonly principal: unknown;
}

/**
 * What happens, in the order in which it happens. A hook that throws `Refusal` in `request` refuses the call; in `message` it refuses one
 * message of a client's channel, which is answered with the protocol's fault and does not reach the handler.
 */
export interface Hooks {
  /** A call whose input is right is about to reach its handler. */
  readonly request?: (call: Called) => void | Promise<void>;
  /** A stream has sent its headers, or a channel is open. */
  readonly open?: (call: Called) => void;
  /** A message was received or is being sent. */
  readonly message?: (call: Called, message: AnyMessage, from: Side) => void;
  /** Something came that the contract does not know. */
  readonly unknown?: (call: Called, unknown: Unknown) => void;
  /** A request, or one message of a channel, is refused; a client that asks for a channel and then for its socket makes two requests. `cause` is what was thrown: a bug in a handler is seen here and nowhere else. */
  readonly refuse?: (request: Request, refusal: Refusal, cause: unknown, operation?: string) => void;
  /** A stream or channel is over: `done` by the protocol, `gone` by the peer, `failed` by an error. */
  readonly close?: (call: Called, how: "done" | "gone" | "failed") => void;
}
