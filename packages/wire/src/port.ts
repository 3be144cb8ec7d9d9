import type { Carrier, Channel } from "./contract/contract.js";
import type { Disconnected } from "./errors.js";

/** What may carry a channel. */
export const carriersOf = ({ carriers = ["websocket"] }: Channel): readonly Carrier[] => carriers;

/** One end of a socket that carries text frames in order. */
export interface Port {
  send(frame: string): void;
  close(code: number, reason: string): void;
  /** Called where a close waits for frames that were sent before. A port with it limits the time of its close itself. */
  readonly closing?: (() => void) | undefined;
  /** Bytes sent that have not left this machine. */
  buffered?(): number;
  /** Closes without waiting for a peer that does not read. */
  cut?(): void;
  /** Whether the maximum is queued: a send now would be rejected. */
  full?(): boolean;
  /** Pending while `send` should be awaited; undefined otherwise. A link paces a port without it. */
  room?(): Promise<void> | undefined;
  /** Pending while frames are not yet written to the socket; undefined otherwise. */
  flushed?(): Promise<void> | undefined;
  /** Called once, before anything is received. */
  listen(on: PortEvents): void;
}

export interface PortEvents {
  frame(text: string): void;
  /** The socket is closed; nothing follows. 1006 means that it was cut (RFC 6455, section 7.1.5); `cause` is the reason when this side cut it. */
  close(code: number, reason: string, cause?: Disconnected): void;
  /** The peer has closed, and waits for `close` to be called. Without this, or where a runtime answers by itself, it is answered at once. */
  readonly closing?: ((code: number, reason: string) => void) | undefined;
  /** Characters of frames that this side's reader has not taken: a port that can wait for the reader does so. */
  readonly unread?: (() => number) | undefined;
}

/** Creates two connected ports in memory. Frames arrive later, in order, and before the close that follows them. */
export function pair(): [Port, Port] {
  const a = end();
  const b = end();
  return [a.port(b), b.port(a)];
}

interface End {
  port(peer: End): Port;
  deliver(event: (on: PortEvents) => void, last?: boolean): void;
}

function end(): End {
  let on: PortEvents | undefined;
  let closed = false;
  const waiting: ((on: PortEvents) => void)[] = [];

  function deliver(event: (on: PortEvents) => void, last = false): void {
    if (closed) return;
    if (last) closed = true;
    if (on === undefined) waiting.push(event);
    else {
      const events = on;
      queueMicrotask(() => event(events));
    }
  }

  return {
    deliver,
    port: (peer) => ({
      send(frame) {
        if (!closed) peer.deliver((events) => events.frame(frame));
      },
      close(code, reason) {
        peer.deliver((events) => events.close(code, reason), true);
        deliver((events) => events.close(code, reason), true);
      },
      listen(events) {
        on = events;
        for (const event of waiting.splice(0)) queueMicrotask(() => event(events));
      },
    }),
  };
}

/** The common part of a browser's WebSocket and that of the `ws` package. */
export interface SocketLike {
  readonly bufferedAmount: number;
  /** Only in the `ws` package. */
  terminate?(): void;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  /** Only in the `ws` package, whose `addEventListener` makes an event object of each frame. */
  on?(event: "message", listener: (data: unknown, isBinary: boolean) => void): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void;
}

/** Makes a port of an open WebSocket. Events before `listen` wait for it. */
export function socketPort(socket: SocketLike): Port {
  let on: PortEvents | undefined;
  /** Frames that came before `listen`. */
  let early: string[] | undefined;
  let over: readonly [code: number, reason: string] | undefined;
  function end(code: number, reason: string): void {
    if (over) return;
    over = [code, reason];
    on?.close(code, reason);
  }
  function receive(data: unknown): void {
    if (over) return;
    if (typeof data !== "string") {
      close(1003, "text frames only");
      // A peer that sends such frames may not confirm the close.
      end(1003, "text frames only");
    } else if (on) on.frame(data);
    else {
      early ??= [];
      early.push(data);
    }
  }
  if (socket.on) socket.on("message", (data, isBinary) => receive(isBinary === false ? String(data) : data));
  else socket.addEventListener("message", ({ data }) => receive(data));
  socket.addEventListener("close", ({ code, reason }) => end(code, reason));
  function close(code: number, reason: string): void {
    try {
      socket.close(code, reason);
    } catch {
      // A browser lets a page close with 1000 and 3000 to 4999 only (WHATWG WebSockets, section 3.1).
      socket.close(4000 + (code % 1000), reason);
    }
  }
  return {
    send: (frame) => socket.send(frame),
    buffered: () => socket.bufferedAmount,
    cut: () => (socket.terminate ? socket.terminate() : socket.close()),
    close,
    listen(events) {
      on = events;
      for (const frame of early ?? []) events.frame(frame);
      early = undefined;
      if (over) events.close(...over);
    },
  };
}

/** Opens a socket for a client. Resolves with a port, or with the answer of a server that does not switch protocols. */
export type OpenSocket = (
  url: string,
  init: {
    readonly headers: Readonly<Record<string, string>>;
    readonly protocols: readonly string[];
    /** Bytes of one message. */
    readonly maxSize: number;
    readonly signal?: AbortSignal | undefined;
  },
) => Promise<Port | { readonly refused: SocketRefused }>;

export interface SocketRefused {
  readonly status: number;
  readonly body: string;
  readonly retryAfter?: number | undefined;
}
