import { type Disconnected, disconnected } from "./errors.js";
import type { Port, PortEvents } from "./port.js";

/** How far a sender may be ahead of its peer. */
export interface Pace {
  /** Unsent bytes above which `send` should be awaited. */
  readonly room: number;
  /** Maximum unsent bytes. A send beyond them throws `Disconnected` with code `slow_reader`, and sends nothing. */
  readonly most: number;
  /** Milliseconds that a peer may accept nothing while frames are queued. Then it is cut. */
  readonly stall: number;
}

/** Bytes written to a socket at a time. A socket reports when a write is done, but not its progress. */
const PIECE = 256 * 1024;

/** Milliseconds between the first two polls of a full socket. The interval doubles while the peer takes nothing. */
const FIRST_LOOK = 1;
const LONGEST_LOOK = 100;

export interface Waiter {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/**
 * A port that writes to its socket in pieces, in order, and closes last. A peer that accepts nothing while frames are queued is cut;
 * `close` then has the error.
 *
 * It polls `buffered`, because a browser's WebSocket has no event for a finished write.
 */
export class PacedPort implements Port {
  readonly #port: Port;
  readonly #pace: Pace;
  #on: PortEvents | undefined;
  #over = false;
  /** Characters written since frames were last queued. */
  #burst = 0;
  /** Queued frames; undefined while the socket accepts writes. */
  #held: string[] | undefined;
  #head = 0;
  /** Characters of the queued frames. */
  #size = 0;
  #closing: { readonly code: number; readonly reason: string } | undefined;
  #room: Waiter | undefined;
  #flushed: Waiter | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wait: number = FIRST_LOOK;
  /** The socket's unsent bytes at the last poll, and the time since without progress. */
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
    this.#burst += frame.length;
    // A socket that takes everything at once would let a sender that awaits each send keep the process from hearing its peer's close.
    if (this.#waiting() <= this.#piece() && this.#burst <= PIECE) return;
    this.#held = [];
    this.#level = this.#waiting();
    this.#look();
  }

  full(): boolean {
    return this.#held !== undefined && this.buffered() > this.#pace.most;
  }

  /** Pending while more than `room` is queued; undefined otherwise. */
  room(): Promise<void> | undefined {
    if (!this.#held || this.buffered() <= this.#pace.room) return undefined;
    this.#room ??= waiter();
    return this.#room.promise;
  }

  /** Pending while frames are queued; undefined otherwise. */
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
    if (this.#held) this.#port.closing?.();
    else this.#port.close(code, reason);
  }

  cut(): void {
    this.drop();
    if (this.#port.cut) this.#port.cut();
    else this.#port.close(1013, "slow reader");
  }

  /** May be called again: the last events count. */
  listen(on: PortEvents): void {
    const isFirst = this.#on === undefined;
    this.#on = on;
    if (!isFirst) return;
    this.#port.listen({
      ...on,
      frame: (text) => this.#on!.frame(text),
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
    // It keeps the process: in memory no socket does, and frames are still to be sent.
    this.#timer = setTimeout(() => this.#pass(), this.#wait);
  }

  /** Writes as much to the socket as it has room for. */
  #pass(): void {
    let level = this.#waiting();
    if (level < this.#level) {
      this.#silent = 0;
      this.#wait = FIRST_LOOK;
    } else {
      // Polls are counted, not time, because a suspended process gives its peer no chance.
      this.#silent += this.#wait;
      this.#wait = Math.min(LONGEST_LOOK, 2 * this.#wait);
    }
    for (; this.#held && this.#head < this.#held.length && level <= this.#piece(); level = this.#waiting()) {
      const frame = this.#held[this.#head++]!;
      this.#size -= frame.length;
      this.#port.send(frame);
    }
    // The socket failed during a write.
    if (!this.#held) return;
    this.#level = level;
    if (this.#head === this.#held.length && level <= this.#piece()) return this.#finish();
    if (this.#head > 1024 && this.#head * 2 > this.#held.length) {
      this.#held.splice(0, this.#head);
      this.#head = 0;
    }
    if (this.#room && this.buffered() <= this.#pace.room) this.#settle();
    if (this.#silent < this.#pace.stall) return this.#look();
    const how = `${level} bytes wait to be sent, and the peer has taken none for ${this.#pace.stall} ms`;
    this.#end(1006, "slow reader", disconnected(how, "slow_reader", false));
    this.cut();
  }

  /** Ends queuing, and closes the socket if a close is pending. */
  #finish(): void {
    this.drop();
    if (this.#closing) this.#port.close(this.#closing.code, this.#closing.reason);
  }

  #end(code: number, reason: string, cause?: Disconnected): void {
    if (this.#over) return;
    this.#over = true;
    this.#on?.close(code, reason, cause);
    this.drop();
  }

  /** Drops the queued frames. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#held = undefined;
    this.#head = this.#size = this.#silent = this.#burst = 0;
    this.#wait = FIRST_LOOK;
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
