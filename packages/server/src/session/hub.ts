import { type AnyMessage, Disconnected } from "@parlance/wire";
import type { OpenAsks, Waiting } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import type { Tally } from "../ledger.js";
import type { Sent, Subscriber } from "../ports.js";

/** One session, for as long as it has a reader, an unconfirmed message or an open ask. */
export interface Hub {
  readonly scope: Scope;
  /** Counts the messages that wait for a reader. */
  readonly held: Tally;
  /** Stops the time after which they are dropped. */
  stopWaiting: () => void;
  readonly subscribers: Set<Subscriber>;
  /** Called when the session ends: readers to come, which are not let in yet. */
  readonly attending: Set<() => void>;
  /** Messages that no reader has confirmed, in their order. A new reader begins with them, so each reader gets messages in this order. */
  readonly unconfirmed: Sent[];
  /** The last message that was confirmed. */
  confirmed: number;
  /** Asks that an operation answers. */
  readonly asks: OpenAsks;
  readonly sentAsks: Map<Waiting, Sent>;
  /** Asks that a channel's message answers: each is put to every channel that opens while it is open. */
  readonly put: Set<(subscriber: Subscriber) => void>;
}

/** A message that is sent to a session. A class, so that each message is one small object. */
export class SessionMessage implements Sent {
  readonly message: AnyMessage;
  readonly place: number;
  readonly #hub: Hub;
  #weight = -1;

  constructor(hub: Hub, message: AnyMessage, place: number) {
    this.message = message;
    this.place = place;
    this.#hub = hub;
  }

  /** Rarely asked for where there are readers. */
  get weight(): number {
    if (this.#weight < 0) this.#weight = JSON.stringify(this.message).length;
    return this.#weight;
  }

  had(): void {
    confirm(this.#hub, this.place);
  }
}

export function confirm(hub: Hub, place: number): void {
  const { unconfirmed } = hub;
  const count = placeOf(unconfirmed, place + 1);
  if (count === 0) return;
  hub.confirmed = unconfirmed[count - 1]!.place;
  unconfirmed.splice(0, count);
  if (unconfirmed.length === 0) {
    hub.held.set(0);
    hub.stopWaiting();
  }
  closeIfIdle(hub);
}

export function forget(hub: Hub, sent: Sent): void {
  const at = placeOf(hub.unconfirmed, sent.place);
  if (hub.unconfirmed[at] === sent) hub.unconfirmed.splice(at, 1);
}

/** Finds the first message at or after a place, by binary search: thousands may be queued. */
function placeOf(messages: readonly Sent[], place: number): number {
  let [from, to] = [0, messages.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (messages[middle]!.place < place) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function weightOf({ unconfirmed }: Hub): number {
  return unconfirmed.reduce((sum, { weight }) => sum + weight, 0);
}

export function closeIfIdle({ scope, subscribers, attending, unconfirmed, asks, put }: Hub): void {
  if (subscribers.size + attending.size + unconfirmed.length + asks.size + put.size === 0) scope.close();
}

/** Puts an ask to every channel; the first answer of any of them counts. */
export function askChannels(hub: Hub, message: AnyMessage, scope: Scope, { settle, fail, part }: Settling): void {
  const put = (subscriber: Subscriber): void => {
    // A channel that closes leaves the ask open for the next one.
    const failed = (error: unknown) => !(error instanceof Disconnected) && fail(error);
    subscriber.ask?.(message, { signal: scope.signal, onPart: part }).then(settle, failed);
  };
  hub.put.add(put);
  scope.add(() => hub.put.delete(put));
  for (const subscriber of hub.subscribers) put(subscriber);
}

/** Sends to every subscriber, even when others fail. Returns the waits of those without room. Throws for an invalid message. */
export function sendToAll(subscribers: Iterable<Subscriber>, sent: Sent): readonly Promise<unknown>[] {
  const failures: unknown[] = [];
  let full = NONE;
  for (const subscriber of subscribers) {
    try {
      const room = subscriber.send(sent);
      if (room) full = [...full, room];
    } catch (error) {
      // A reader that is gone has a `Disconnected` of its own.
      if (!(error instanceof Disconnected)) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return full;
}

const NONE: readonly Promise<unknown>[] = [];

export interface Settling {
  readonly settle: (answer: AnyMessage) => void;
  readonly fail: (error: unknown) => void;
  readonly part: ((answer: AnyMessage) => void) | undefined;
}
