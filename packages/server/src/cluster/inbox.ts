import { type AnyMessage, Disconnected } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Sent, Subscriber } from "../ports.js";
import type { Packet } from "./packet.js";
import type { Wiring } from "./publish.js";

/** A reader on this server. */
interface Reader {
  readonly key: string;
  readonly subscriber: Subscriber;
  readonly scope: Scope;
  /** The reader's progress in the messages of each server. */
  readonly progress: Map<string, Progress>;
  /** Set once the session has ended: stops the wait for the last messages of other servers. */
  stop?: () => void;
}

interface Progress {
  /** Where it began. */
  readonly begin: number;
  /** The last place received here, and the last one that the reader has. */
  place: number;
  had: number;
  /** A confirmation is due. */
  due: boolean;
  /** Messages after which the reader had no room: the confirmation waits until it has. */
  full: number;
  /** Nothing more comes from this server. */
  over: boolean;
}

/** A message of another server to a reader here. */
class Received implements Sent {
  readonly message: AnyMessage;
  readonly place: number;
  /** 0, because the sending server counts it. */
  readonly weight = 0;
  readonly #progress: Progress;
  readonly #confirm: () => void;

  constructor(message: AnyMessage, place: number, progress: Progress, confirm: () => void) {
    this.message = message;
    this.place = place;
    this.#progress = progress;
    this.#confirm = confirm;
  }

  had(): void {
    this.#progress.had = Math.max(this.#progress.had, this.place);
    this.#confirm();
  }
}

/** Readers on this server, by the names that other servers use, and what these send to them. */
export class Inbox {
  readonly #wiring: Wiring;
  readonly #scopeOf: (key: string) => Scope | undefined;
  readonly #readers = new Map<string, Reader>();

  /** `scopeOf` finds the scope of a followed session. */
  constructor(wiring: Wiring, scopeOf: (key: string) => Scope | undefined) {
    this.#wiring = wiring;
    this.#scopeOf = scopeOf;
  }

  add(name: string, key: string, subscriber: Subscriber, scope: Scope): void {
    this.#readers.set(name, { key, subscriber, scope, progress: new Map() });
    scope.add(() => this.#readers.delete(name));
  }

  namesOf(key: string): string[] {
    return [...this.#readers].filter(([, reader]) => reader.key === key).map(([name]) => name);
  }

  /** Notes that a session has ended. Returns its readers to which other servers owe messages: each ends after the last one. */
  end(key: string): Set<Subscriber> {
    const readers = [...this.#readers.values()].filter((reader) => reader.key === key && this.#isOwed(reader));
    return new Set(readers.map(({ subscriber }) => subscriber));
  }

  deliver({ key, from, reader: name, begin = -1, last, messages }: Extract<Packet, { type: "messages" }>): void {
    const reader = this.#readers.get(name);
    if (!reader) return this.#wiring.mention(from, { type: "left", reader: name });
    const known = reader.progress.get(from);
    if (known && begin > Math.max(known.begin, known.place)) return reader.subscriber.end(lost(key));
    const progress: Progress = known ?? { begin, place: -1, had: 0, due: false, full: 0, over: false };
    reader.progress.set(from, progress);
    const confirm = (): void => this.confirm(key, from, name, progress);
    for (const [place, message] of messages) {
      if (place <= progress.place) continue;
      progress.place = place;
      try {
        const room = reader.subscriber.send(new Received(message, place, progress, confirm));
        if (!room) continue;
        progress.full++;
        const admit = (): void => {
          progress.full--;
          confirm();
        };
        room.then(admit, admit);
      } catch (error) {
        // A channel that is gone leaves the session.
        if (!(error instanceof Disconnected)) this.#wiring.report(error);
      }
    }
    confirm();
    progress.over ||= last === true;
    if (!(last || reader.stop) || this.#isOwed(reader)) return;
    this.#readers.delete(name);
    this.#wiring.mention(from, { type: "left", reader: name });
    reader.subscriber.end();
  }

  /** Confirms in one packet what was received here and what the reader has. */
  confirm(key: string, from: string, name: string, progress = this.#readers.get(name)?.progress.get(from)): void {
    if (!progress || progress.due || progress.full > 0) return;
    progress.due = true;
    queueMicrotask(() => {
      progress.due = false;
      const { place, had } = progress;
      const packet: Packet = { type: "received", key, reader: name, place, had };
      this.#wiring.insist(from, packet, this.#scopeOf(key) ?? this.#wiring.root);
    });
  }

  /** Whether a reader whose session has ended still waits for messages of other servers. Those of a silent server are lost. */
  #isOwed(reader: Reader): boolean {
    const { key, subscriber, scope, progress } = reader;
    const owed = [...progress.values()].some(({ over }) => !over);
    reader.stop?.();
    if (owed) reader.stop = scope.timeout(this.#wiring.limits.interruptedFor, () => subscriber.end(lost(key)));
    return owed;
  }
}

function lost(key: string): Disconnected {
  return new Disconnected(`session ${key} has lost messages`, { code: "gap", retryable: true });
}
