import { type AnyContract, type AnyMessage, Disconnected, Refusal } from "@parlance/wire";
import { OpenAsks, type Waiting } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { type Encode, encoderFor } from "../codecs.js";
import type { Limits } from "../limits.js";
import type { AnySession, Batch, OpenAskFound, Sent, SessionStore, Subscriber } from "../ports.js";

/** One session, for as long as it has a reader, a waiting message or an open ask. */
interface Hub {
  readonly scope: Scope;
  /** How many messages the server had sent when each of them came. */
  readonly subscribers: Map<Subscriber, number>;
  waiting: { readonly message: AnyMessage; readonly weight: number }[];
  /** Asks that an operation answers. */
  readonly asks: OpenAsks;
  /** Asks that a channel's message answers: each is put to every channel that opens while it is open. */
  readonly put: Set<(subscriber: Subscriber) => void>;
}

export const SETTLED = "this was decided already: the first answer counts";

/** Sessions that one server holds alone: every answer is there at once. */
export class LocalSessions implements SessionStore {
  readonly #contract: AnyContract;
  readonly #limits: Limits;
  readonly #root: Scope;
  readonly #onIdle: ((key: string) => void) | undefined;
  readonly #hubs = new Map<string, Hub>();
  readonly #settled: SettledAsks;
  /** Throws `Violation` to the sender of a wrong message: a reader could only fail for it. */
  readonly check: Encode;
  /** Batches are counted: which of them a later reader lacks is known when an earlier one has not got it. */
  #sent = 0;

  /** `onIdle` is called when a session has ended, or nothing of it is left. */
  constructor(contract: AnyContract, limits: Limits, root: Scope, onIdle?: (key: string) => void) {
    this.#contract = contract;
    this.#limits = limits;
    this.#root = root;
    this.#onIdle = onIdle;
    this.#settled = settledAsks(contract, limits.maxSettled);
    this.check = encoderFor(contract, { side: "server", names: sentToSessions(contract), checks: contract.checks });
  }

  session(key: string): AnySession {
    return {
      send: (message) => this.#send(key, message),
      ask: (message, options) => this.#ask(key, message, options),
    };
  }

  subscribe(key: string, subscriber: Subscriber, scope: Scope): void {
    if (scope.closed) return;
    const hub = this.#hubOf(key);
    // A new reader is shown what is open; one that was cut and resumes sees only what it missed.
    const open = hub.asks.list().map(({ message }) => message);
    const waiting = hub.waiting.map(({ message }) => message);
    hub.waiting = [];
    const since = this.#sent;
    for (const message of [...open.filter((one) => !waiting.includes(one)), ...waiting])
      subscriber.send(message, this.batch());
    hub.subscribers.set(subscriber, since);
    scope.add(() => {
      hub.subscribers.delete(subscriber);
      closeIfIdle(hub);
    });
    for (const put of hub.put) put(subscriber);
  }

  /** A message to the readers of this moment. */
  batch(): Batch {
    return { place: ++this.#sent };
  }

  requeue(key: string, messages: readonly Sent[]): void {
    // Readers that were there already have a copy of their own, and an open ask is shown to the next reader anyway.
    const asks = new OpenAsks(this.#contract, "server");
    for (const { message, batch } of messages) {
      const place = batch?.place ?? Number.POSITIVE_INFINITY;
      const isHad = [...(this.#hubs.get(key)?.subscribers.values() ?? [])].some((since) => since < place);
      if (!isHad && !asks.exchangeOf(message)) this.#send(key, message);
    }
  }

  find(key: string, reply: AnyMessage): OpenAskFound | undefined {
    const found = this.#hubs.get(key)?.asks.find(reply);
    if (!found && this.#settled.has(key, reply)) throw new Refusal(SETTLED, { status: 409 });
    return found?.ask;
  }

  settle(key: string, reply: AnyMessage): void {
    const answered = this.#hubs.get(key)?.asks.answer(reply);
    if (!answered) throw new Refusal(SETTLED, { status: 409 });
    if (!answered.partial) answered.ask.settle?.(reply);
  }

  end(key: string): void {
    const hub = this.#hubs.get(key);
    if (!hub) return;
    const subscribers = [...hub.subscribers.keys()];
    hub.scope.close(this.#over(key));
    for (const subscriber of subscribers) subscriber.end();
  }

  #hubOf(key: string): Hub {
    const known = this.#hubs.get(key);
    if (known) return known;
    const scope = this.#root.child("sessions");
    const asks = new OpenAsks(this.#contract, "server");
    const hub: Hub = { scope, subscribers: new Map(), waiting: [], asks, put: new Set() };
    this.#hubs.set(key, hub);
    scope.measure("queued", () => weightOf(hub));
    scope.add(() => {
      if (this.#hubs.get(key) === hub) this.#hubs.delete(key);
      this.#onIdle?.(key);
    });
    return hub;
  }

  #send(key: string, message: AnyMessage): void {
    const known = this.#hubs.get(key);
    if (known && known.subscribers.size > 0) return sendToAll(known.subscribers.keys(), message, this.batch());
    // Where there are readers, encoding it for them checks it.
    this.check(message);
    const hub = this.#hubOf(key);
    const weight = JSON.stringify(message).length;
    const { maxQueued } = this.#limits;
    if (weightOf(hub) + weight > maxQueued)
      throw new Disconnected(
        `${this.#contract.name}: session ${key} has no reader, and more than ${maxQueued} characters wait for one`,
        { code: "slow_reader", retryable: true },
      );
    hub.waiting.push({ message, weight });
  }

  #ask(key: string, message: AnyMessage, options: { readonly signal?: AbortSignal } = {}): Promise<AnyMessage> {
    return new Promise<AnyMessage>((resolve, reject) => {
      options.signal?.throwIfAborted();
      this.check(message);
      const hub = this.#hubOf(key);
      const scope = hub.scope.child("asks");
      const settle = (answer: AnyMessage): void => {
        resolve(answer);
        scope.close(new DOMException("it is answered", "AbortError"));
      };
      const fail = (error: unknown): void => {
        reject(error);
        scope.close(error);
      };
      scope.add(() => {
        reject(scope.reason ?? this.#over(key));
        closeIfIdle(hub);
      });
      const { signal } = options;
      if (signal) scope.onAbort(signal, () => fail(signal.reason));
      try {
        if (this.#isAnsweredByOperation(message)) this.#askReaders(key, hub, message, scope, { settle, fail });
        else askChannels(hub, message, scope, { settle, fail });
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Shows an ask to every reader; an operation answers it. */
  #askReaders(key: string, hub: Hub, message: AnyMessage, scope: Scope, on: Settling): void {
    const waiting = hub.asks.open(message, on);
    if (!waiting) throw new TypeError(`${this.#contract.name}: this ${message.type} asks nothing; send it`);
    scope.add(() => {
      hub.asks.withdraw(waiting);
      // The next reader is shown open asks only.
      hub.waiting = hub.waiting.filter((one) => one.message !== message);
      if (!hub.scope.closed) this.#settled.remember(key, waiting);
    });
    this.#send(key, message);
  }

  #isAnsweredByOperation({ type }: AnyMessage): boolean {
    return (this.#contract.exchanges ?? []).some(
      ({ ask, by, answers }) =>
        ask === type && by === "server" && answers.some(({ operation }) => operation !== undefined),
    );
  }

  #over(key: string): Disconnected {
    return new Disconnected(`${this.#contract.name}: session ${key} has ended`, { code: "closed", retryable: false });
  }
}

/** The messages that a session's streams and channels carry. */
function sentToSessions({ operations, channels }: AnyContract): string[] {
  const streams = Object.values(operations).flatMap(({ answer: { stream } }) =>
    stream?.closedBy === undefined ? [] : stream.messages,
  );
  return [...new Set([...streams, ...Object.values(channels).flatMap(({ server }) => server)])];
}

function weightOf({ waiting }: Hub): number {
  return waiting.reduce((sum, { weight }) => sum + weight, 0);
}

function closeIfIdle({ scope, subscribers, waiting, asks, put }: Hub): void {
  if (subscribers.size + waiting.length + asks.list().length + put.size === 0) scope.close();
}

/** Puts an ask to every channel; the first answer of any of them counts. */
function askChannels(hub: Hub, message: AnyMessage, scope: Scope, { settle, fail }: Settling): void {
  const put = (subscriber: Subscriber): void => {
    // A channel that closes leaves the ask open for the next one.
    const failed = (error: unknown) => !(error instanceof Disconnected) && fail(error);
    subscriber.ask?.(message, { signal: scope.signal }).then(settle, failed);
  };
  hub.put.add(put);
  scope.add(() => hub.put.delete(put));
  for (const subscriber of hub.subscribers.keys()) put(subscriber);
}

/** Sends to each, whatever happens to the others. Throws where the message itself is wrong. */
function sendToAll(subscribers: Iterable<Subscriber>, message: AnyMessage, batch: Batch): void {
  const failures: unknown[] = [];
  for (const subscriber of subscribers) {
    try {
      subscriber.send(message, batch);
    } catch (error) {
      // A reader that is gone has a `Disconnected` of its own.
      if (!(error instanceof Disconnected)) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

interface Settling {
  readonly settle: (answer: AnyMessage) => void;
  readonly fail: (error: unknown) => void;
}

/** Settled asks, kept to reject late answers with 409. The oldest are forgotten first. */
interface SettledAsks {
  remember(session: string, ask: Waiting): void;
  /** Whether a reply would have answered one of them. */
  has(session: string, reply: AnyMessage): boolean;
}

function settledAsks({ exchanges = [] }: AnyContract, limit: number): SettledAsks {
  const names = new Set<string>();
  /** The asks that a reply could have answered. */
  const asksOf = (reply: AnyMessage): string[] =>
    exchanges.flatMap(({ ask, key, answers }) =>
      answers
        .filter((answer) => answer.operation === reply.type)
        .map((answer) => `${ask} ${(reply as unknown as Record<string, unknown>)[answer.key ?? key ?? ""]}`),
    );
  return {
    remember(session: string, { exchange, key }: Waiting): void {
      names.add(`${session} ${exchange.ask} ${key}`);
      if (names.size > limit) names.delete(names.values().next().value!);
    },
    has: (session: string, reply: AnyMessage): boolean => asksOf(reply).some((ask) => names.has(`${session} ${ask}`)),
  };
}
