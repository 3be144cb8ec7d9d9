import { type AnyContract, type AnyMessage, Disconnected, Refusal } from "@parlance/wire";
import { OpenAsks, type Waiting } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { type Encode, encoderFor } from "../codecs.js";
import type { Limits } from "../limits.js";
import type { AnySession, OpenAskFound, Sent, SessionStore, Subscriber } from "../ports.js";

/** One session, for as long as it has a reader, an unconfirmed message or an open ask. */
interface Hub {
  readonly scope: Scope;
  readonly subscribers: Set<Subscriber>;
  /** Messages that no reader has confirmed, in their order. A new reader begins with them, so each reader gets messages in this order. */
  unconfirmed: Sent[];
  /** The last message that was confirmed. */
  confirmed: number;
  /** Asks that an operation answers. */
  readonly asks: OpenAsks;
  readonly sentAsks: Map<Waiting, Sent>;
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

  /** Messages that were sent to sessions. */
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
      send: (message) => void this.#send(key, message),
      ask: (message, options) => this.#ask(key, message, options),
    };
  }

  subscribe(key: string, subscriber: Subscriber, scope: Scope): void {
    if (scope.closed) return;
    const hub = this.#hubOf(key);
    // A new reader is shown what is open; one that was cut and resumes sees only what it missed.
    const asks = hub.asks.list().flatMap((ask) => hub.sentAsks.get(ask) ?? []);
    const shown = asks.filter((ask) => !hub.unconfirmed.includes(ask));
    for (const sent of [...shown, ...hub.unconfirmed]) subscriber.send(sent);
    hub.subscribers.add(subscriber);
    scope.add(() => {
      hub.subscribers.delete(subscriber);
      closeIfIdle(hub);
    });
    for (const put of hub.put) put(subscriber);
  }

  /** The last message that was confirmed: a new reader begins after it. */
  confirmed(key: string): number {
    return this.#hubs.get(key)?.confirmed ?? 0;
  }

  /** A reader has every message that it was sent, up to a place. */
  confirm(key: string, place: number): void {
    const hub = this.#hubs.get(key);
    if (hub) confirm(hub, place);
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
    const subscribers = [...hub.subscribers];
    hub.scope.close(this.#over(key));
    for (const subscriber of subscribers) subscriber.end();
  }

  #hubOf(key: string): Hub {
    const known = this.#hubs.get(key);
    if (known) return known;
    const scope = this.#root.child("sessions");
    const asks = new OpenAsks(this.#contract, "server");
    const hub: Hub = {
      scope,
      subscribers: new Set(),
      unconfirmed: [],
      confirmed: 0,
      asks,
      sentAsks: new Map(),
      put: new Set(),
    };
    this.#hubs.set(key, hub);
    scope.measure("queued", () => weightOf(hub));
    scope.add(() => {
      if (this.#hubs.get(key) === hub) this.#hubs.delete(key);
      this.#onIdle?.(key);
    });
    return hub;
  }

  #send(key: string, message: AnyMessage): Sent {
    const isRead = (this.#hubs.get(key)?.subscribers.size ?? 0) > 0;
    // Where there are readers, encoding it for them checks it.
    if (!isRead) this.check(message);
    const hub = this.#hubOf(key);
    const sent = newSent(hub, message, ++this.#sent);
    const { maxQueued } = this.#limits;
    if (!isRead && weightOf(hub) + sent.weight > maxQueued) {
      closeIfIdle(hub);
      throw new Disconnected(
        `${this.#contract.name}: session ${key} has no reader, and more than ${maxQueued} characters wait for one`,
        { code: "slow_reader", retryable: true },
      );
    }
    hub.unconfirmed.push(sent);
    try {
      sendToAll(hub.subscribers, sent);
    } catch (error) {
      forget(hub, sent);
      throw error;
    }
    return sent;
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
      const sent = hub.sentAsks.get(waiting);
      if (sent) forget(hub, sent);
      hub.sentAsks.delete(waiting);
      if (!hub.scope.closed) this.#settled.remember(key, waiting);
    });
    hub.sentAsks.set(waiting, this.#send(key, message));
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

function newSent(hub: Hub, message: AnyMessage, place: number): Sent {
  let weight: number | undefined;
  return {
    message,
    place,
    // Rarely asked for where there are readers.
    get weight() {
      weight ??= JSON.stringify(message).length;
      return weight;
    },
    had: () => confirm(hub, place),
  };
}

function confirm(hub: Hub, place: number): void {
  const { unconfirmed } = hub;
  let count = 0;
  while (count < unconfirmed.length && unconfirmed[count]!.place <= place) count++;
  if (count === 0) return;
  hub.confirmed = unconfirmed[count - 1]!.place;
  unconfirmed.splice(0, count);
  closeIfIdle(hub);
}

function forget(hub: Hub, sent: Sent): void {
  hub.unconfirmed = hub.unconfirmed.filter((one) => one !== sent);
}

function weightOf({ unconfirmed }: Hub): number {
  return unconfirmed.reduce((sum, { weight }) => sum + weight, 0);
}

function closeIfIdle({ scope, subscribers, unconfirmed, asks, put }: Hub): void {
  if (subscribers.size + unconfirmed.length + asks.list().length + put.size === 0) scope.close();
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
  for (const subscriber of hub.subscribers) put(subscriber);
}

/** Sends to each, whatever happens to the others. Throws where the message itself is wrong. */
function sendToAll(subscribers: Iterable<Subscriber>, sent: Sent): void {
  const failures: unknown[] = [];
  for (const subscriber of subscribers) {
    try {
      subscriber.send(sent);
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
