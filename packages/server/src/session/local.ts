import type { Session } from "@parlance/contract";
import { type AnyContract, type AnyMessage, Disconnected, Refusal } from "@parlance/wire";
import { type OpenAsks, openAsks, type Waiting } from "@parlance/wire/link";

export type AnySession = Session<AnyMessage, Record<string, AnyMessage>>;

/** Somebody who reads a session: a stream, or a channel that can also ask. */
export interface Subscriber {
  /** All that are sent one message are passed the same `saying`, so that it is written once. */
  send(message: AnyMessage, saying?: object): void;
  ask?(message: AnyMessage, options?: { readonly signal?: AbortSignal }): Promise<AnyMessage>;
  /** The session is over. */
  end(): void;
}

/** The sessions of one app: who reads each, what waits for a reader, and what is asked. */
export interface Sessions {
  /** What a handler gets as `call.session(key)`. */
  session(key: string): AnySession;
  subscribe(key: string, subscriber: Subscriber): () => void;
  /** The open ask that an operation answers. Throws `Refusal` where it was decided already: the first decision wins. A promise where it is another server's. */
  find(key: string, reply: AnyMessage): Found | undefined | Promise<Found | undefined>;
  /** Settles it. Throws `Refusal` when somebody else has meanwhile. */
  settle(key: string, reply: AnyMessage): void | Promise<void>;
  /** Ends the session for everybody. */
  end(key: string): void;
  /** The server closes: what it hears from others is over. */
  close(): void;
}

export type Found = Pick<Waiting, "message">;

/** Sessions that one server holds alone: nothing has to be waited for. */
export interface LocalSessions extends Sessions {
  find(key: string, reply: AnyMessage): Found | undefined;
  settle(key: string, reply: AnyMessage): void;
  isRead(key: string): boolean;
}

interface Hub {
  readonly subscribers: Set<Subscriber>;
  waiting: { readonly message: AnyMessage; readonly weight: number }[];
  /** Asks that an operation answers. */
  readonly asks: OpenAsks;
  /** Asks that a channel's messages answer: each is put to every channel that opens while nobody has answered. */
  readonly put: Set<(subscriber: Subscriber) => void>;
}

/** Decided asks that a server remembers. */
const REMEMBERED = 10_000;

export const DECIDED = "this was decided already: the first answer counts";

/** `maxQueued` characters may wait for a session that nobody reads. `onIdle` hears of a session that is forgotten. */
export function sessions(contract: AnyContract, maxQueued: number, onIdle?: (key: string) => void): LocalSessions {
  const hubs = new Map<string, Hub>();
  /** Asks that are decided, so that a late answer is told so, also when nobody reads the session any more. The oldest are forgotten first. */
  const decided = new Set<string>();
  const answeredByOperation = (type: string): boolean =>
    (contract.exchanges ?? []).some(
      ({ ask, by, answers }) =>
        ask === type && by === "server" && answers.some(({ operation }) => operation !== undefined),
    );

  function hubOf(key: string): Hub {
    const known = hubs.get(key);
    if (known) return known;
    const hub: Hub = {
      subscribers: new Set(),
      waiting: [],
      asks: openAsks(contract, "server"),
      put: new Set(),
    };
    hubs.set(key, hub);
    return hub;
  }

  function dropIfIdle(key: string, { subscribers, waiting, asks, put }: Hub): void {
    if (subscribers.size + waiting.length + asks.list().length + put.size === 0) forget(key);
  }

  function forget(key: string): void {
    hubs.delete(key);
    onIdle?.(key);
  }

  function remember(session: string, { exchange, key }: Waiting): void {
    decided.add(`${session} ${exchange.ask} ${key}`);
    if (decided.size > REMEMBERED) decided.delete(decided.values().next().value!);
  }

  function send(key: string, message: AnyMessage): void {
    const hub = hubOf(key);
    if (hub.subscribers.size > 0) {
      const saying = {};
      for (const subscriber of hub.subscribers) subscriber.send(message, saying);
      return;
    }
    const weight = JSON.stringify(message).length;
    if (hub.waiting.reduce((sum, waiting) => sum + waiting.weight, weight) > maxQueued)
      throw new Disconnected(
        `${contract.name}: nobody reads session ${key}, and more than ${maxQueued} characters wait for it`,
        { code: "slow_reader", retryable: true },
      );
    hub.waiting.push({ message, weight });
  }

  function ask(
    key: string,
    message: AnyMessage,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<AnyMessage> {
    const hub = hubOf(key);
    return new Promise((settle, fail) => {
      signal?.throwIfAborted();
      const forget = answeredByOperation(message.type) ? askAll() : askChannels();
      signal?.addEventListener("abort", () => {
        forget();
        dropIfIdle(key, hub);
        fail(signal.reason);
      });

      function askAll(): () => void {
        const waiting = hub.asks.open(message, { settle, fail });
        if (!waiting) throw new TypeError(`${contract.name}: this ${message.type} asks nothing; send it`);
        send(key, message);
        return () => {
          hub.asks.withdraw(waiting);
          remember(key, waiting);
        };
      }

      function askChannels(): () => void {
        const put = (subscriber: Subscriber): void => {
          subscriber.ask?.(message, { signal }).then(
            (answer) => {
              hub.put.delete(put);
              settle(answer);
            },
            // A channel that closes leaves the ask open for the next one.
            (error) => !(error instanceof Disconnected) && fail(error),
          );
        };
        hub.put.add(put);
        for (const subscriber of hub.subscribers) put(subscriber);
        return () => hub.put.delete(put);
      }
    });
  }

  return {
    session: (key) => ({
      send: (message) => send(key, message),
      ask: (message, options) => ask(key, message, options),
    }),
    subscribe(key, subscriber) {
      const hub = hubOf(key);
      // A fresh reader is shown what is still open; one that was cut and joins again sees only what it missed.
      const open = hub.asks.list().map(({ message }) => message);
      const waiting = hub.waiting.map(({ message }) => message);
      hub.waiting = [];
      for (const message of [...open.filter((one) => !waiting.includes(one)), ...waiting]) subscriber.send(message);
      hub.subscribers.add(subscriber);
      for (const put of hub.put) put(subscriber);
      return () => {
        hub.subscribers.delete(subscriber);
        dropIfIdle(key, hub);
      };
    },
    isRead: (key) => (hubs.get(key)?.subscribers.size ?? 0) > 0,
    find(key, reply) {
      const found = hubs.get(key)?.asks.find(reply);
      if (!found && keysOf(contract, reply).some((ask) => decided.has(`${key} ${ask}`)))
        throw new Refusal(DECIDED, { status: 409 });
      return found?.ask;
    },
    settle(key, reply) {
      const hub = hubs.get(key);
      const answered = hub?.asks.answer(reply);
      if (!hub || !answered) throw new Refusal(DECIDED, { status: 409 });
      if (answered.partial) return;
      remember(key, answered.ask);
      answered.ask.settle?.(reply);
    },
    end(key) {
      const hub = hubs.get(key);
      if (!hub) return;
      forget(key);
      const over = new Disconnected(`${contract.name}: session ${key} has ended`, { code: "closed", retryable: false });
      for (const ask of hub.asks.list()) ask.fail?.(over);
      for (const subscriber of hub.subscribers) subscriber.end();
    },
    close() {},
  };
}

/** What a reply would have answered. */
function keysOf({ exchanges = [] }: AnyContract, reply: AnyMessage): string[] {
  return exchanges.flatMap(({ ask, key, answers }) =>
    answers
      .filter((answer) => answer.operation === reply.type)
      .map((answer) => `${ask} ${(reply as unknown as Record<string, unknown>)[answer.key ?? key ?? ""]}`),
  );
}
