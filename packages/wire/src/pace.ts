import { disconnected } from "./errors.js";
import type { Port, PortEvents } from "./port.js";

/** How far a sender may be ahead of its peer. */
export interface Pace {
  /** Bytes that may wait before `send` is to be awaited. */
  readonly room: number;
  /** Bytes that may wait at most: a send beyond them throws `Disconnected` with code `slow_reader`, and sends nothing. */
  readonly most: number;
  /** Milliseconds that a peer may take nothing while frames are held back. Then it is cut. */
  readonly stall: number;
}

/** Bytes that a socket is given at a time. A socket tells that it is rid of a write, not how much of it is gone. */
const PIECE = 256 * 1024;

/** Milliseconds between two looks at a socket that has too much, the first and the longest. */
const LOOK = { first: 1, longest: 100 } as const;

export interface Waiter {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/**
 * A port that gives its socket a piece at a time, in order, and its close last. A peer that takes nothing while frames are held back is cut:
 * `close` then has the error.
 *
 * It looks at `buffered` again and again, because sockets of browsers tell nobody when they have sent.
 */
export class PacedPort implements Port {
  readonly #port: Port;
  readonly #pace: Pace;
  #on: PortEvents | undefined;
  #over = false;
  /** Frames that are held back; undefined while the socket takes what it is given. */
  #held: string[] | undefined;
  #head = 0;
  /** Characters of them. */
  #size = 0;
  #closing: { readonly code: number; readonly reason: string } | undefined;
  #room: Waiter | undefined;
  #flushed: Waiter | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wait: number = LOOK.first;
  /** What the socket had when it was last looked at, and for how long it has taken nothing since. */
  #level = 0;
  #silent = 0;

  constructor(port: Port, pace: Pace) {
    this.#port = port;
    this.#pace = pace;
  }

  send(frame: string): void {
    if (this.#over || this.#closing) return;
    if (this.#held) {
      this.#held.push(frame);
      this.#size += frame.length;
      return;
    }
    this.#port.send(frame);
    if (this.#waiting() <= this.#piece()) return;
    this.#held = [];
    this.#level = this.#waiting();
    this.#look();
  }

  full(): boolean {
    return this.#held !== undefined && this.buffered() > this.#pace.most;
  }

  /** Pending while more waits than `room`; undefined otherwise. */
  room(): Promise<void> | undefined {
    if (!this.#held || this.buffered() <= this.#pace.room) return undefined;
    this.#room ??= waiter();
    return this.#room.promise;
  }

  /** Pending while frames are held back; undefined otherwise. */
  flushed(): Promise<void> | undefined {
    if (!this.#held) return undefined;
    this.#flushed ??= waiter();
    return this.#flushed.promise;
  }

  buffered(): number {
    return this.#size + this.#waiting();
  }

  close(code: number, reason: string): void {
    if (this.#over || this.#closing) return;
    this.#closing = { code, reason };
    if (!this.#held) this.#port.close(code, reason);
  }

  cut(): void {
    this.drop();
    if (this.#port.cut) this.#port.cut();
    else this.#port.close(1013, "slow reader");
  }

  listen(on: PortEvents): void {
    this.#on = on;
    this.#port.listen({
      frame: (text) => on.frame(text),
      close: (code, reason, cause) => this.#end(code, reason, cause),
    });
  }

  #waiting(): number {
    return this.#port.buffered?.() ?? 0;
  }

  #piece(): number {
    return Math.min(PIECE, this.#pace.room);
  }

  #look(): void {
    this.#timer = setTimeout(() => this.#pass(), this.#wait);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Gives the socket what it has room for. */
  #pass(): void {
    let level = this.#waiting();
    if (level < this.#level) {
      this.#silent = 0;
      this.#wait = LOOK.first;
    } else {
      // Looks are counted, not time: a process that stood still has not given its peer a chance.
      this.#silent += this.#wait;
      this.#wait = Math.min(LOOK.longest, 2 * this.#wait);
    }
    for (; this.#held && this.#head < this.#held.length && level <= this.#piece(); level = this.#waiting()) {
      const frame = this.#held[this.#head++]!;
      this.#size -= frame.length;
      this.#port.send(frame);
    }
    // The socket has failed while it sent.
    if (!this.#held) return;
    this.#level = level;
    if (this.#head === this.#held.length && level <= this.#piece()) return this.#finish();
    if (this.#head > 1024 && this.#head * 2 > this.#held.length) {
      this.#held.splice(0, this.#head);
      this.#head = 0;
    }
    if (this.#room && this.buffered() <= this.#pace.room) this.#settle();
    if (this.#silent < this.#pace.stall) return this.#look();
    const how = `${level} bytes wait to be sent, and the peer has taken none of them for ${this.#pace.stall} ms`;
    this.#end(1006, "slow reader", disconnected(how, "slow_reader", false));
    this.cut();
  }

  /** Nothing is held back any more. */
  #finish(): void {
    this.drop();
    if (this.#closing) this.#port.close(this.#closing.code, this.#closing.reason);
  }

  #end(...[code, reason, cause]: Parameters<PortEvents["close"]>): void {
    if (this.#over) return;
    this.#over = true;
    this.#on?.close(code, reason, cause);
    this.drop();
  }

  /** Forgets the frames that are held back. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#held = undefined;
    this.#head = this.#size = this.#silent = 0;
    this.#wait = LOOK.first;
    this.#flushed?.resolve();
    this.#flushed = undefined;
    this.#settle();
  }

  #settle(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

export function waiter(): Waiter {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
