import { type AnyContract, type AnyMessage, type AskOptions, Disconnected, misuse, Refusal } from "@parlance/wire";
import { keyPath, valueAt } from "@parlance/wire/internal/pointer";
import { type Answered, OpenAsks, type Waiting } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { ignorable } from "../callback.js";
import { type Encode, encoderFor } from "../codecs.js";
import { ownerIn } from "../identity.js";
import type { Ledger } from "../ledger.js";
import type { Limits } from "../limits.js";
import type { AnySession, Claimed, LocalStore, Sent, Subscriber } from "../ports.js";
import {
  askChannels,
  closeIfIdle,
  confirm,
  forget,
  type Hub,
  SessionMessage,
  type Settling,
  sendToAll,
  weightOf,
} from "./hub.js";

export const SETTLED = "this question is not open any more: it was decided, withdrawn, or its stream has ended";
export const CLAIMED = "another call decides this now: the first answer counts";

/** The shared promise that `send` returns while every reader has room. */
const ROOM = Promise.resolve();

export interface LocalOptions {
  readonly contract: AnyContract;
  readonly limits: Limits;
  readonly root: Scope;
  readonly ledger: Ledger;
  readonly report: (error: unknown, source: string) => void;
  /** Called when a session has ended, or nothing of it is left. */
  readonly onIdle?: ((key: string) => void) | undefined;
}

/** Sessions that one server holds alone: every answer is there at once. */
export class LocalSessions implements LocalStore {
  readonly #contract: AnyContract;
  readonly #limits: Limits;
  readonly #root: Scope;
  readonly #ledger: Ledger;
  readonly #report: LocalOptions["report"];
  readonly #onIdle: ((key: string) => void) | undefined;
  readonly #hubs = new Map<string, Hub>();
  readonly #settled: SettledAsks;
  /** Asks that a handler decides now. */
  readonly #claimed = new WeakSet<Waiting>();
  /** Throws `Violation` to the sender of an invalid message, because a reader could only fail on it. */
  readonly check: Encode;

  /** Messages that were sent to sessions. */
  #sent = 0;

  constructor({ contract, limits, root, ledger, report, onIdle }: LocalOptions) {
    this.#contract = contract;
    this.#limits = limits;
    this.#root = root;
    this.#ledger = ledger;
    this.#report = report;
    this.#onIdle = onIdle;
    this.#settled = settledAsks(contract, limits.maxSettled);
    this.check = encoderFor(contract, { side: "server", names: sentToSessions(contract), checks: contract.checks });
  }

  session(key: string): AnySession {
    return {
      send: (message) => this.#send(key, message).room,
      ask: (message, options) => ignorable((async () => this.#ask(key, message, options))()),
    };
  }

  ask(
    key: string,
    message: AnyMessage,
    show: () => unknown,
    scope: Scope,
    options?: AskOptions<AnyMessage>,
  ): Promise<AnyMessage> {
    return this.#ask(key, message, options, { show, scope });
  }

  subscribe(key: string, subscriber: Subscriber, scope: Scope): void {
    if (scope.closed) return;
    const hub = this.#hubOf(key);
    // A new reader is shown what is open; one that was cut and resumes sees only what it missed.
    const asks = hub.asks.list().flatMap((ask) => hub.sentAsks.get(ask) ?? []);
    const shown = asks.filter((ask) => !hub.unconfirmed.includes(ask));
    for (const sent of [...shown, ...hub.unconfirmed]) subscriber.send(sent);
    hub.subscribers.add(subscriber);
    hub.stopWaiting();
    scope.add(() => {
      hub.subscribers.delete(subscriber);
      if (hub.subscribers.size === 0 && hub.unconfirmed.length > 0) this.#wait(key, hub);
      closeIfIdle(hub);
    });
    for (const put of hub.put) put(subscriber);
  }

  attend(key: string, onEnd: () => void, scope: Scope): () => void {
    if (scope.closed) return () => {};
    const hub = this.#hubOf(key);
    hub.attending.add(onEnd);
    return scope.hold(() => {
      hub.attending.delete(onEnd);
      closeIfIdle(hub);
    });
  }

  /** The last message that was confirmed: a new reader begins after it. */
  confirmed(key: string): number {
    return this.#hubs.get(key)?.confirmed ?? 0;
  }

  /** Notes that a reader has every message up to a place. */
  confirm(key: string, place: number): void {
    const hub = this.#hubs.get(key);
    if (hub) confirm(hub, place);
  }

  /** Finds the open ask that an operation answers. Throws `Refusal` (409) where it is settled. */
  find(key: string, reply: AnyMessage): Answered | undefined {
    const found = this.#hubs.get(key)?.asks.find(reply);
    if (!found && this.#settled.has(key, reply)) throw new Refusal(SETTLED, { status: 409 });
    return found;
  }

  claim(key: string, reply: AnyMessage): Claimed | undefined {
    const found = this.find(key, reply);
    // By order, a second answer is for the next ask.
    if (!found || found.partial || found.ask.key === undefined) return found?.ask;
    const { ask } = found;
    if (this.#claimed.has(ask)) throw new Refusal(CLAIMED, { status: 409 });
    this.#claimed.add(ask);
    return { message: ask.message, release: () => this.#claimed.delete(ask) };
  }

  settle(key: string, reply: AnyMessage): void {
    const answered = this.#hubs.get(key)?.asks.answer(reply);
    if (!answered) throw new Refusal(SETTLED, { status: 409 });
    if (answered.partial) answered.ask.part?.(reply);
    else answered.ask.settle?.(reply);
  }

  /** What no reader has confirmed. */
  unconfirmed(key: string): readonly Sent[] {
    return [...(this.#hubs.get(key)?.unconfirmed ?? [])];
  }

  /** Ends a session. `later` chooses the subscribers that its caller ends. */
  end(key: string, later?: () => ReadonlySet<Subscriber>, reason?: unknown): void {
    const hub = this.#hubs.get(key);
    if (!hub) return;
    for (const onEnd of [...hub.attending]) onEnd();
    const kept = later?.();
    const subscribers = [...hub.subscribers].filter((subscriber) => !kept?.has(subscriber));
    hub.scope.close(reason ?? this.#over(key));
    for (const subscriber of subscribers) subscriber.end(reason);
  }

  #hubOf(key: string): Hub {
    const known = this.#hubs.get(key);
    if (known) return known;
    const scope = this.#root.child("sessions");
    const owner = ownerIn(key);
    try {
      this.#ledger.take(owner, "session", scope);
    } catch (error) {
      scope.close();
      throw error;
    }
    this.#ledger.hold(owner, scope, (reason) => this.end(key, undefined, reason));
    const asks = new OpenAsks(this.#contract, "server");
    const hub: Hub = {
      scope,
      held: this.#ledger.held(owner, scope),
      stopWaiting: () => {},
      subscribers: new Set(),
      attending: new Set(),
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

  #send(key: string, message: AnyMessage): { readonly sent: Sent; readonly room: Promise<void> } {
    const isRead = (this.#hubs.get(key)?.subscribers.size ?? 0) > 0;
    // Where there are readers, encoding it for them checks it.
    if (!isRead) this.check(message);
    const hub = this.#hubOf(key);
    const sent = new SessionMessage(hub, message, ++this.#sent);
    const maxQueued = this.#ledger.allowance(ownerIn(key), this.#limits.maxQueued);
    const queued = isRead ? 0 : weightOf(hub) + sent.weight;
    if (queued > maxQueued) {
      closeIfIdle(hub);
      throw new Disconnected(
        `${this.#contract.name}: session ${key} has no reader, and more than ${maxQueued} characters wait for one`,
        { code: "slow_reader", retryable: true },
      );
    }
    hub.unconfirmed.push(sent);
    if (!isRead) {
      hub.held.set(queued);
      if (hub.unconfirmed.length === 1) this.#wait(key, hub);
    }
    try {
      const full = sendToAll(hub.subscribers, sent);
      return { sent, room: full.length === 0 ? ROOM : Promise.allSettled(full).then(() => {}) };
    } catch (error) {
      forget(hub, sent);
      throw error;
    }
  }

  /** `stream`: the one that shows it. Without it every reader of the session is shown it. Throws what keeps it from being opened. */
  #ask(
    key: string,
    message: AnyMessage,
    options: AskOptions<AnyMessage> = {},
    stream?: { readonly show: () => unknown; readonly scope: Scope },
  ): Promise<AnyMessage> {
    options.signal?.throwIfAborted();
    if (!stream) this.check(message);
    const hub = this.#hubOf(key);
    const scope = hub.scope.child("asks");
    try {
      this.#ledger.take(ownerIn(key), "ask", scope);
    } catch (error) {
      scope.close();
      closeIfIdle(hub);
      throw error;
    }
    return new Promise<AnyMessage>((resolve, reject) => {
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
      const limit = this.#limits.askWithin || Number.POSITIVE_INFINITY;
      scope.timeout(limit, () => {
        const how = `${this.#contract.name}: the answer to ${message.type} did not finish within ${limit} ms`;
        fail(new Disconnected(how, { code: "timeout", retryable: true }));
      });
      const { signal } = options;
      if (signal) scope.onAbort(signal, () => fail(signal.reason));
      if (stream) {
        const how = `${this.#contract.name}: the stream that asked ${message.type} has ended`;
        const over = () => stream.scope.reason ?? new Disconnected(how, { code: "closed", retryable: false });
        scope.add(stream.scope.hold(() => fail(over())));
      }
      try {
        const on = { settle, fail, part: options.onPart };
        if (stream) this.#open(key, hub, message, scope, on, stream.show);
        else if (this.#isAnsweredByOperation(message)) this.#askReaders(key, hub, message, scope, on);
        else askChannels(hub, message, scope, on);
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Drops messages that nobody reads in time, which is reported. */
  #wait(key: string, hub: Hub): void {
    const { unreadFor } = this.#limits;
    hub.stopWaiting();
    hub.stopWaiting = hub.scope.timeout(unreadFor || Number.POSITIVE_INFINITY, () => {
      const count = hub.unconfirmed.length;
      confirm(hub, Number.POSITIVE_INFINITY);
      const dropped = `session ${key} had no reader for ${unreadFor} ms: ${count} messages are dropped`;
      this.#report(new Disconnected(dropped, { code: "timeout", retryable: false }), "a session");
    });
  }

  /** Shows an ask to every reader; an operation answers it. */
  #askReaders(key: string, hub: Hub, message: AnyMessage, scope: Scope, on: Settling): void {
    this.#open(key, hub, message, scope, on, (waiting) => {
      scope.add(() => {
        // The next reader is shown open asks only.
        const sent = hub.sentAsks.get(waiting);
        if (sent) forget(hub, sent);
        hub.sentAsks.delete(waiting);
      });
      hub.sentAsks.set(waiting, this.#send(key, message).sent);
    });
  }

  /** Opens an ask that an operation answers, and shows it. */
  #open(key: string, hub: Hub, message: AnyMessage, scope: Scope, on: Settling, show: (ask: Waiting) => unknown): void {
    const waiting = hub.asks.open(message, on);
    if (!waiting) throw misuse(`${this.#contract.name}: this ${message.type} asks nothing; send it`);
    scope.add(() => {
      hub.asks.withdraw(waiting);
      if (!hub.scope.closed) this.#settled.remember(key, waiting);
    });
    show(waiting);
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

/** Settled asks, kept to reject late answers with 409. The oldest are forgotten first. */
export interface SettledAsks {
  remember(session: string, ask: Waiting): void;
  /** Whether a reply would have answered one of them. */
  has(session: string, reply: AnyMessage): boolean;
}

export function settledAsks({ exchanges = [] }: AnyContract, limit: number): SettledAsks {
  const names = new Set<string>();
  /** The asks that a reply could have answered. */
  const asksOf = (reply: AnyMessage): string[] =>
    exchanges.flatMap(({ ask, key, answers }) =>
      answers
        .filter((answer) => answer.operation === reply.type)
        .map((answer) => `${ask} ${valueAt(reply, keyPath(answer.key ?? key ?? ""))}`),
    );
  return {
    remember(session: string, { exchange, key }: Waiting): void {
      names.add(`${session} ${exchange.ask} ${key}`);
      if (names.size > limit) names.delete(names.values().next().value!);
    },
    has: (session: string, reply: AnyMessage): boolean => asksOf(reply).some((ask) => names.has(`${session} ${ask}`)),
  };
}
