import type { Port, PortEvents } from "@parlance/wire";
import type { Relay } from "./relay.js";

/** What one end says to the other. `n` counts what it has said: a relay that lost its connection may lose something, or say it again. */
interface Said {
  readonly n: number;
  readonly frames?: readonly string[];
  readonly close?: { readonly code: number; readonly reason: string };
}

export interface TunnelOptions {
  /** The topic of this end, and the other's. */
  readonly here: string;
  readonly there: string;
  /**
   * The end of the client's socket says how that was closed, and is done; the other end waits to hear it, since whoever closes must know whether
   * the last frames have arrived.
   */
  readonly end: "socket" | "conversation";
  /** Milliseconds between signs of life. */
  readonly beat: number;
}

export interface Tunnel {
  readonly port: Port;
  /** Nobody needs it. */
  drop(): void;
}

/**
 * A port whose other end is on another server: what a conversation speaks through while its client's socket is elsewhere. Frames keep their
 * order; where the relay cannot promise that any more, or nobody is at the other end, the port closes as one that was cut (1006), and the
 * counts of both sides say what is missing.
 */
export async function tunnel(relay: Relay, { here, there, end: side, beat }: TunnelOptions): Promise<Tunnel> {
  let on: PortEvents | undefined;
  const early: ((on: PortEvents) => void)[] = [];
  let unsaid: string[] = [];
  let closing: Said["close"];
  let size = 0;
  let sent = 0;
  let heard = 0;
  let saying = false;
  let over = false;
  let leave = () => {};

  function deliver(event: (on: PortEvents) => void): void {
    if (on) event(on);
    else early.push(event);
  }

  function drop(): void {
    over = true;
    clearInterval(timer);
    leave();
  }

  function end(code: number, reason: string): void {
    if (over) return;
    drop();
    deliver((events) => events.close(code, reason));
  }
  const cut = (): void => end(1006, "");

  /** One call at a time: of two, a relay that comes back could lose the first and bring the second. */
  function say(): void {
    if (saying || over) return;
    saying = true;
    const frames = unsaid;
    const close = closing;
    unsaid = [];
    closing = undefined;
    const said: Said = { n: ++sent, ...(frames.length > 0 && { frames }), ...(close && { close }) };
    relay.publish(there, JSON.stringify(said)).then((reached) => {
      saying = false;
      for (const frame of frames) size -= frame.length;
      if (reached === 0) cut();
      else if (close && side === "socket") drop();
      else if (unsaid.length > 0 || closing) say();
    }, cut);
  }

  function hear({ n, frames = [], close }: Said): void {
    if (over || n <= heard) return;
    if (n !== heard + 1) return cut();
    heard = n;
    for (const frame of frames) deliver((events) => events.frame(frame));
    if (!close) return;
    if (side === "conversation") end(close.code, close.reason);
    else deliver((events) => events.close(close.code, close.reason));
  }

  const timer = setInterval(say, beat);
  (timer as { unref?: () => void }).unref?.();
  try {
    leave = await relay.subscribe(here, (text) => hear(JSON.parse(text)), cut);
  } catch (error) {
    drop();
    throw error;
  }
  return {
    drop,
    port: {
      send(frame) {
        if (over) return;
        unsaid.push(frame);
        size += frame.length;
        // What is said within one tick is one message of the relay.
        queueMicrotask(() => unsaid.length > 0 && say());
      },
      close(code, reason) {
        closing = { code, reason };
        say();
      },
      buffered: () => size,
      cut,
      listen(events) {
        on = events;
        for (const event of early.splice(0)) event(events);
      },
    },
  };
}

/** Passes on what a client's socket and the far end say to each other. */
export function joinPorts(socket: Port, far: Port, limit: number): void {
  const full = ({ buffered }: Port): boolean => (buffered?.() ?? 0) > limit;
  far.listen({
    frame(text) {
      socket.send(text);
      if (full(socket)) socket.cut?.();
    },
    // 1012: the client joins again.
    close: (code, reason) => socket.close(code === 1006 ? 1012 : code, reason),
  });
  socket.listen({
    frame(text) {
      far.send(text);
      if (full(far)) socket.close(1013, "the server is too far behind");
    },
    close: (code, reason) => far.close(code, reason),
  });
}
