import type { Session } from "@parlance/contract";
import { type AnyContract, type AnyMessage, Disconnected } from "@parlance/wire";
import { type Answered, openAsks } from "@parlance/wire/link";

export type AnySession = Session<AnyMessage, Record<string, AnyMessage>>;

/** Somebody who reads a session: a stream, or a channel that can also ask. */
export interface Subscriber {
  send(message: AnyMessage): void;
  ask?(message: AnyMessage, options?: { readonly signal?: AbortSignal }): Promise<AnyMessage>;
  /** The session is over. */
  end(): void;
}

/** The sessions of one app: who reads each, what waits for a reader, and what is asked. */
export interface Sessions {
  /** What a handler gets as `call.session(key)`. */
  session(key: string): AnySession;
  subscribe(key: string, subscriber: Subscriber): () => void;
  /** The open ask that an operation answers. */
  find(key: string, reply: AnyMessage): Answered | undefined;
  /** Settles it. False when somebody else already has. */
  settle(key: string, reply: AnyMessage): boolean;
  /** Ends the session for everybody. */
  end(key: string): void;
}

interface Hub {
  readonly subscribers: Set<Subscriber>;
  readonly waiting: { readonly tell: (subscriber: Subscriber) => void; readonly weight: number }[];
  readonly asks: ReturnType<typeof openAsks>;
}

/** `maxQueued` characters may wait for a session that nobody reads. */
export function sessions(contract: AnyContract, maxQueued: number): Sessions {
  const hubs = new Map<string, Hub>();
  const answeredByOperation = (type: string): boolean =>
    (contract.exchanges ?? []).some(
      ({ ask, by, answers }) =>
        ask === type && by === "server" && answers.some((answer) => answer.operation !== undefined),
    );

  function hubOf(key: string): Hub {
    const known = hubs.get(key);
    if (known) return known;
    const hub: Hub = { subscribers: new Set(), waiting: [], asks: openAsks(contract, "server") };
    hubs.set(key, hub);
    return hub;
  }

  function dropIfIdle(key: string, hub: Hub): void {
    if (hub.subscribers.size === 0 && hub.waiting.length === 0 && hub.asks.list().length === 0) hubs.delete(key);
  }

  function tell(key: string, message: AnyMessage, act: (subscriber: Subscriber) => void): void {
    const hub = hubOf(key);
    if (hub.subscribers.size > 0) {
      for (const subscriber of hub.subscribers) act(subscriber);
      return;
    }
    const weight = JSON.stringify(message).length;
    if (hub.waiting.reduce((sum, { weight }) => sum + weight, weight) > maxQueued)
      throw new Disconnected(
        `${contract.name}: nobody reads session ${key}, and more than ${maxQueued} characters wait for it`,
        {
          code: "slow_reader",
          retryable: true,
        },
      );
    hub.waiting.push({ tell: act, weight });
  }

  function ask(
    key: string,
    message: AnyMessage,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<AnyMessage> {
    return new Promise((settle, fail) => {
      signal?.throwIfAborted();
      if (!answeredByOperation(message.type)) {
        let asked = false;
        return tell(key, message, (subscriber) => {
          if (asked || !subscriber.ask) return;
          asked = true;
          subscriber.ask(message, { signal }).then(settle, fail);
        });
      }
      const hub = hubOf(key);
      const waiting = hub.asks.open(message, { settle, fail });
      if (!waiting) return fail(new TypeError(`${contract.name}: this ${message.type} asks nothing; send it`));
      signal?.addEventListener("abort", () => {
        hub.asks.withdraw(waiting);
        dropIfIdle(key, hub);
        fail(signal.reason);
      });
      tell(key, message, (subscriber) => subscriber.send(message));
    });
  }

  return {
    session: (key) => ({
      send: (message) => tell(key, message, (subscriber) => subscriber.send(message)),
      ask: (message, options) => ask(key, message, options),
    }),
    subscribe(key, subscriber) {
      const hub = hubOf(key);
      hub.subscribers.add(subscriber);
      for (const { tell } of hub.waiting.splice(0)) tell(subscriber);
      return () => {
        hub.subscribers.delete(subscriber);
        dropIfIdle(key, hub);
      };
    },
    find: (key, reply) => hubs.get(key)?.asks.find(reply),
    settle(key, reply) {
      const answered = hubs.get(key)?.asks.answer(reply);
      if (answered && !answered.partial) answered.ask.settle?.(reply);
      return answered !== undefined;
    },
    end(key) {
      const hub = hubs.get(key);
      if (!hub) return;
      hubs.delete(key);
      const over = new Disconnected(`${contract.name}: session ${key} has ended`, { code: "closed", retryable: false });
      for (const ask of hub.asks.list()) ask.fail?.(over);
      for (const subscriber of hub.subscribers) subscriber.end();
    },
  };
}
