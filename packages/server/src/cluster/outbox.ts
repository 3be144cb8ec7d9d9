import type { AnyMessage } from "@parlance/wire";

export interface PassingOptions {
  /** Resolves to how many have heard it. */
  readonly publish: (messages: readonly AnyMessage[]) => Promise<number>;
  /** Characters that may wait. */
  readonly limit: number;
  /** Nobody hears it, or not fast enough: what was on the way. */
  readonly onLost: (unheard: readonly AnyMessage[]) => void;
}

/** Messages to a reader on another server, in order. One call at a time: of two, a relay that comes back could lose the first and bring the second. */
export function passing({ publish, limit, onLost }: PassingOptions): (message: AnyMessage) => void {
  let unheard: AnyMessage[] = [];
  let onTheWay = 0;
  let size = 0;
  let lost = false;

  function lose(): void {
    if (lost) return;
    lost = true;
    onLost(unheard);
    unheard = [];
  }

  function pass(): void {
    if (lost || onTheWay > 0 || unheard.length === 0) return;
    onTheWay = unheard.length;
    publish([...unheard]).then((heard) => {
      if (heard === 0) return lose();
      for (const message of unheard.splice(0, onTheWay)) size -= JSON.stringify(message).length;
      onTheWay = 0;
      pass();
    }, lose);
  }

  return (message) => {
    unheard.push(message);
    size += JSON.stringify(message).length;
    if (size > limit) return lose();
    pass();
  };
}
