import type { Scope } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";
import type { Sent } from "../ports.js";
import { Gate } from "./credit.js";
import { RETRY } from "./publish.js";

export interface OutboxOptions {
  /** Owns the timers. */
  readonly scope: Scope;
  readonly limits: Pick<Limits, "maxQueued" | "maxBuffered" | "stall" | "queryWithin" | "interruptedFor">;
  /** Publishes a packet; an empty one greets the reader. Resolves to the number of receivers. */
  readonly publish: (sent: readonly Sent[]) => Promise<number>;
  /** The reader's server is gone, or too slow. */
  readonly onLost: () => void;
}

export interface Outbox {
  /**
   * Returns a promise while more waits than should. `waited` says that it was sent before the reader came, and was bounded then.
   */
  send(sent: Sent, waited: boolean): Promise<void> | undefined;
  /** Confirms everything up to a place: the reader's server has it, and its reader has room. */
  received(place: number): void;
  /** Publishes unconfirmed messages again, because they may have been lost. */
  repeat(): void;
  /** Queued characters. */
  readonly size: number;
}

/** Characters of one packet, unless a single message has more. */
const PACKET = 64 * 1024;

/** How many messages go into the next packet. */
function packetOf(waiting: readonly Sent[]): number {
  let [count, length] = [0, 0];
  do length += waiting[count++]!.weight;
  while (count < waiting.length && length + waiting[count]!.weight <= PACKET);
  return count;
}

/**
 * Sends every message to a reader on another server, in order. A packet is published until that server has confirmed it, even where
 * pub/sub reports success; then the next one follows. The receiver drops duplicates.
 */
export function outbox({ scope, limits, publish, onLost }: OutboxOptions): Outbox {
  const waiting: Sent[] = [];
  /** How many of them are on the way. The first packet is empty. */
  let onTheWay: number | undefined = 0;
  /** Queued characters, and those of messages sent before the reader came. */
  let [size, extra] = [0, 0];
  // The reader's own server cuts it when it stalls, and has as long again to report that.
  const gate = new Gate(scope, () => size <= limits.maxQueued + extra, 2 * limits.stall, onLost);
  /** The call that pub/sub has not answered. */
  let pending: object | undefined;
  let stop = (): void => {};
  let wait = RETRY.first;
  let goneSince: number | undefined;

  function again(after: number): void {
    stop();
    stop = scope.timeout(after, transmit);
  }

  function retry(): void {
    again(wait);
    wait = Math.min(RETRY.cap, 2 * wait);
  }

  function transmit(): void {
    if (pending || onTheWay === undefined || scope.closed) return;
    const own = {};
    pending = own;
    const settled = (act: () => void): void => {
      if (pending !== own || scope.closed) return;
      pending = undefined;
      act();
    };
    publish(waiting.slice(0, onTheWay)).then(
      (receivers) =>
        settled(() => {
          // Without a receiver its server is gone, or pub/sub is on its way back.
          goneSince = receivers === 0 ? (goneSince ?? performance.now()) : undefined;
          if (goneSince === undefined) again(limits.queryWithin);
          else if (performance.now() - goneSince > limits.interruptedFor) onLost();
          else retry();
        }),
      () => settled(retry),
    );
  }

  function flush(): void {
    if (onTheWay !== undefined || waiting.length === 0) return;
    onTheWay = packetOf(waiting);
    transmit();
  }

  transmit();
  return {
    get size() {
      return size;
    },
    send(sent, waited) {
      if (scope.closed) return undefined;
      waiting.push(sent);
      size += sent.weight;
      if (waited) extra += sent.weight;
      if (size > Math.max(limits.maxBuffered, limits.maxQueued) + extra) onLost();
      else flush();
      return gate.wait();
    },
    received(place) {
      if (onTheWay === undefined || place < (waiting[onTheWay - 1]?.place ?? place)) return;
      for (const { weight } of waiting.splice(0, onTheWay)) size -= weight;
      onTheWay = pending = goneSince = undefined;
      wait = RETRY.first;
      stop();
      gate.progress();
      flush();
    },
    repeat() {
      if (onTheWay !== undefined) again(0);
    },
  };
}
