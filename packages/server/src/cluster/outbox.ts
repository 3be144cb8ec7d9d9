import type { AnyMessage } from "@parlance/wire";

export interface OutboxOptions {
  /** Resolves to the number of receivers. */
  readonly publish: (messages: readonly AnyMessage[]) => Promise<number>;
  /** Characters that may wait. */
  readonly limit: number;
  /** No receiver is left, or it is too slow: the messages that were on the way. */
  readonly onLost: (messages: readonly AnyMessage[]) => void;
}

export interface Outbox {
  send(message: AnyMessage): void;
  /** Characters that wait. */
  readonly size: number;
}

/** Sends messages to a reader on another server, in order. One call at a time: of two, pub/sub that comes back could lose the first and bring the second. */
export function outbox({ publish, limit, onLost }: OutboxOptions): Outbox {
  let waiting: { readonly message: AnyMessage; readonly weight: number }[] = [];
  let onTheWay = 0;
  let size = 0;
  let lost = false;

  function lose(): void {
    if (lost) return;
    lost = true;
    const messages = waiting.map(({ message }) => message);
    waiting = [];
    size = 0;
    onLost(messages);
  }

  function flush(): void {
    if (lost || onTheWay > 0 || waiting.length === 0) return;
    onTheWay = waiting.length;
    publish(waiting.map(({ message }) => message)).then((receivers) => {
      if (lost) return;
      if (receivers === 0) return lose();
      for (const { weight } of waiting.splice(0, onTheWay)) size -= weight;
      onTheWay = 0;
      flush();
    }, lose);
  }

  return {
    get size() {
      return size;
    },
    send(message) {
      const weight = JSON.stringify(message).length;
      waiting.push({ message, weight });
      size += weight;
      if (size > limit) return lose();
      flush();
    },
  };
}
