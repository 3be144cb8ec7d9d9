import type { Port, PortEvents } from "@parlance/wire";
import { PacedPort } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { type Limits, paceOf } from "../limits.js";
import { Credit } from "./credit.js";
import type { Wiring } from "./publish.js";
import { subscribe } from "./subscriptions.js";

/** What one end sends to the other. `n` numbers the packets, because a reconnected pub/sub may lose one or deliver it twice. */
interface Packet {
  readonly n: number;
  readonly frames?: readonly string[];
  /** Characters of the other end's frames that this end has taken since the beginning. */
  readonly taken?: number;
  readonly close?: { readonly code: number; readonly reason: string };
}

export interface TunnelOptions {
  readonly wiring: Wiring;
  /** Owns this end. */
  readonly scope: Scope;
  /** The topic of this end, and the other's. */
  readonly here: string;
  readonly there: string;
  /**
   * `socket` sends how the client's socket was closed. `conversation` waits to receive it, because the side that closes must know whether the
   * last frames have arrived: so must a client, which is answered when the conversation has received its close.
   */
  readonly end: "socket" | "conversation";
}

/** A port whose frames are counted until its far end has found room for them. */
export interface Tunnel extends Port {
  /** Notes that all received frames were taken. */
  took(): void;
}

/**
 * A port whose other end is on another server: it joins a conversation to its client's socket there. Frames keep their order. Where
 * pub/sub cannot guarantee that any more, or the other end is gone, the port closes as cut (1006), and the counts of both sides tell
 * which frames are missing.
 */
export async function tunnel({ wiring, scope, here, there, end: side }: TunnelOptions): Promise<Tunnel> {
  const { limits, publish } = wiring;
  const { deliver, listen } = events();
  let unsent: string[] = [];
  let closing: Packet["close"];
  let size = 0;
  let [sent, received] = [0, 0];
  let sending = false;
  const credit = new Credit(limits.maxQueued);
  let over = false;
  /** This side has closed, and the other one. */
  let [closed, closedThere] = [false, false];

  function end(code: number, reason: string): void {
    if (over) return;
    over = true;
    scope.close();
    deliver((events) => events.close(code, reason));
  }
  const cut = (): void => end(1006, "");

  /** Sends one packet at a time: a reconnecting pub/sub could lose the first of two and deliver the second. */
  function flush(): void {
    if (sending || scope.closed) return;
    sending = true;
    const [frames, close] = [unsent, closing];
    [unsent, closing] = [[], undefined];
    publish(there, packetOf(++sent, frames, credit, close), scope).then((receivers) => {
      sending = false;
      for (const frame of frames) size -= frame.length;
      if (receivers === 0) cut();
      else if (close && side === "socket" && closedThere) end(close.code, close.reason);
      else if (close && side === "socket") scope.timeout(limits.queryWithin, cut);
      else if (unsent.length > 0 || closing || credit.due) flush();
    }, cut);
  }

  function receive({ n, frames = [], taken = 0, close }: Packet): void {
    if (n <= received) return;
    if (n !== received + 1) return cut();
    received = n;
    credit.receive(frames, taken);
    for (const frame of frames) deliver((events) => events.frame(frame));
    if (!close) return;
    closedThere = true;
    if (side === "conversation" && !closed) wiring.mention(there, { n: ++sent, close } satisfies Packet);
    if (side === "conversation" || closed) end(close.code, close.reason);
    else deliver((events) => events.close(close.code, close.reason));
  }

  scope.measure("queued", () => size);
  await subscribe(wiring, { topic: here, scope, receive, onInterrupted: cut });
  scope.add(cut);
  // An empty packet is a sign of life.
  scope.interval(Math.max(1, Math.min(limits.grace / 3, limits.heartbeat || Number.POSITIVE_INFINITY)), flush);
  return {
    send(frame) {
      if (scope.closed) return;
      unsent.push(frame);
      size += frame.length;
      credit.give(frame);
      // All frames of one tick are one packet.
      queueMicrotask(() => unsent.length > 0 && flush());
    },
    close(code, reason) {
      if (closed) return;
      closed = true;
      closing = { code, reason };
      flush();
    },
    // A conversation's reader is at the far end.
    buffered: () => (side === "socket" ? size : credit.owed),
    took() {
      credit.take();
      if (credit.due) flush();
    },
    cut,
    listen,
  };
}

function packetOf(n: number, frames: readonly string[], credit: Credit, close: Packet["close"]): Packet {
  return { n, ...(frames.length > 0 && { frames }), ...credit.tell(), ...(close && { close }) };
}

/** Port events, queued until `listen` is called. */
function events(): { deliver(event: (on: PortEvents) => void): void; listen(events: PortEvents): void } {
  let on: PortEvents | undefined;
  const early: ((on: PortEvents) => void)[] = [];
  return {
    deliver(event) {
      if (on) event(on);
      else early.push(event);
    },
    listen(events) {
      on = events;
      for (const event of early.splice(0)) event(events);
    },
  };
}

/** Passes frames between a client's socket and the far end, which sends no more than the socket takes. */
export function joinPorts(client: Port, far: Tunnel, limits: Limits): void {
  const pace = paceOf(limits);
  // A reader that stalls is cut by its conversation, unless that is gone.
  const socket = new PacedPort(client, { ...pace, stall: 2 * pace.stall });
  let room: Promise<void> | undefined;
  const took = (): void => {
    room = socket.room();
    if (room) void room.then(took);
    else far.took();
  };
  far.listen({
    frame(text) {
      socket.send(text);
      if (socket.full()) socket.cut();
      else if (!room) took();
    },
    close(code, reason) {
      if (code !== 1006) return socket.close(code, reason);
      // The client reconnects for the unsent frames.
      socket.drop();
      socket.close(1012, reason);
    },
  });
  socket.listen({
    frame(text) {
      far.send(text);
      if ((far.buffered?.() ?? 0) > pace.most) socket.close(1013, "the server is too far behind");
    },
    close: (code, reason) => far.close(code, reason),
    closing: (code, reason) => far.close(code, reason),
  });
}
