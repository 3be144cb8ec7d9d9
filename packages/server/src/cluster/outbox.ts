import type { Scope } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";
import type { Sent } from "../ports.js";
import { Gate } from "./credit.js";
import { RETRY } from "./publish.js";

export interface OutboxOptions {
  /** Owns the timers. */
  readonly scope: Scope;
  readonly limits: Pick<Limits, "maxQueued" | "maxBuffered" | "stall" | "queryWithin" | "interruptedFor">;
  /** Publishes a packet. Resolves to the number of receivers. */
  readonly publish: (sent: readonly Sent[], which: Which) => Promise<number>;
  /** The reader's server is gone, or too slow. */
  readonly onLost: () => void;
}

export interface Which {
  /** The first packet is empty: it greets the reader. */
  readonly first: boolean;
  /** Nothing follows this packet: the session has ended. */
  readonly last: boolean;
}

/** Characters of one packet, unless a single message has more. */
const PACKET = 64 * 1024;

/** How many messages go into the next packet. */
function packetOf(waiting: readonly Sent[]): number {
  let [count, length] = [0, 0];
  while (count < waiting.length && (count === 0 || length + waiting[count]!.weight <= PACKET))
    length += waiting[count++]!.weight;
  return count;
}

/**
 * Sends every message to a reader on another server, in order. A packet is published until that server has confirmed it, even where
 * pub/sub reports success; then the next one follows. The receiver drops duplicates.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #waiting: Sent[] = [];
  readonly #gate: Gate;
  /** How many of them are on the way. The first packet is empty. */
  #onTheWay: number | undefined = 0;
  #first = true;
  #ended = false;
  #place = -1;
  #size = 0;
  /** Queued characters of messages sent before the reader came. */
  #extra = 0;
  /** The call that pub/sub has not answered. */
  #pending: object | undefined;
  #stop = (): void => {};
  #wait = RETRY.first;
  #goneSince: number | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    const { scope, limits, onLost } = options;
    // The reader's own server cuts it when it stalls, and has as long again to report that.
    this.#gate = new Gate(scope, () => this.#size <= limits.maxQueued + this.#extra, 2 * limits.stall, onLost);
    this.#transmit();
  }

  /** The place of the last message. */
  get last(): number {
    return this.#place;
  }

  /** Queued characters. */
  get size(): number {
    return this.#size;
  }

  /**
   * Returns a promise while more waits than should. `waited` says that it was sent before the reader came, and was bounded then.
   */
  send(sent: Sent, waited: boolean): Promise<void> | undefined {
    const { scope, limits, onLost } = this.#options;
    if (scope.closed || this.#ended || sent.place <= this.#place) return undefined;
    this.#place = sent.place;
    this.#waiting.push(sent);
    this.#size += sent.weight;
    if (waited) this.#extra += sent.weight;
    if (this.#size > Math.max(limits.maxBuffered, limits.maxQueued) + this.#extra) onLost();
    else this.#flush();
    return this.#gate.wait();
  }

  /** Confirms everything up to a place: the reader's server has it, and its reader has room. */
  received(place: number): void {
    if (this.#onTheWay === undefined || place < (this.#waiting[this.#onTheWay - 1]?.place ?? place)) return;
    for (const { weight } of this.#waiting.splice(0, this.#onTheWay)) this.#size -= weight;
    this.#onTheWay = this.#pending = this.#goneSince = undefined;
    this.#first = false;
    this.#wait = RETRY.first;
    this.#stop();
    this.#gate.progress();
    this.#flush();
  }

  /** Publishes unconfirmed messages again, because they may have been lost. */
  repeat(): void {
    if (this.#onTheWay !== undefined) this.#again(0);
  }

  /** Ends the reader after what is queued, repeatedly until the scope closes. */
  finish(): void {
    this.#ended = true;
    this.#flush();
  }

  #flush(): void {
    if (this.#onTheWay !== undefined || (this.#waiting.length === 0 && !this.#ended)) return;
    this.#onTheWay = packetOf(this.#waiting);
    this.#transmit();
  }

  #transmit(): void {
    const { scope, limits, publish, onLost } = this.#options;
    if (this.#pending || this.#onTheWay === undefined || scope.closed) return;
    const own = {};
    this.#pending = own;
    const settled = (act: () => void): void => {
      if (this.#pending !== own || scope.closed) return;
      this.#pending = undefined;
      act();
    };
    const last = this.#ended && this.#onTheWay === this.#waiting.length;
    publish(this.#waiting.slice(0, this.#onTheWay), { first: this.#first, last }).then(
      (receivers) =>
        settled(() => {
          // Without a receiver its server is gone, or pub/sub is on its way back.
          this.#goneSince = receivers === 0 ? (this.#goneSince ?? performance.now()) : undefined;
          if (this.#goneSince === undefined) this.#again(limits.queryWithin);
          else if (performance.now() - this.#goneSince > limits.interruptedFor) onLost();
          else this.#retry();
        }),
      () => settled(() => this.#retry()),
    );
  }

  #retry(): void {
    this.#again(this.#wait);
    this.#wait = Math.min(RETRY.cap, 2 * this.#wait);
  }

  #again(after: number): void {
    this.#stop();
    this.#stop = this.#options.scope.timeout(after, () => this.#transmit());
  }
}
