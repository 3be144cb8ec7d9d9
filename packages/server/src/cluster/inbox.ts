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
  /** Set once the session has ended. */
  ending?: Ending;
}

/** A reader whose session has ended. It ends after the last message of every server that owes it some. */
interface Ending {
  readonly owing: Set<string>;
  /** Servers that owe nothing. */
  readonly free: Set<string>;
  /** Whether all servers have said what they owe. */
  asked: boolean;
  stop: () => void;
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
  readonly #inquire: (key: string, readers: readonly string[]) => void;
  readonly #readers = new Map<string, Reader>();

  /** `scopeOf` finds the scope of a followed session; `inquire` asks all servers what they owe readers, and calls `owes` and `asked`. */
  constructor(
    wiring: Wiring,
    scopeOf: (key: string) => Scope | undefined,
    inquire: (key: string, readers: readonly string[]) => void,
  ) {
    this.#wiring = wiring;
    this.#scopeOf = scopeOf;
    this.#inquire = inquire;
  }

  add(name: string, key: string, subscriber: Subscriber, scope: Scope): void {
    this.#readers.set(name, { key, subscriber, scope, progress: new Map() });
    scope.add(() => this.#readers.delete(name));
  }

  namesOf(key: string): string[] {
    return [...this.#readers].filter(([, reader]) => reader.key === key).map(([name]) => name);
  }

  /** Notes that a session has ended. Returns its readers: each ends after what other servers owe it. */
  end(key: string): Set<Subscriber> {
    const names = this.namesOf(key);
    this.#begin(
      key,
      names.filter((name) => !this.#readers.get(name)!.ending),
    );
    return new Set(names.map((name) => this.#readers.get(name)!.subscriber));
  }

  #begin(key: string, names: readonly string[]): void {
    if (names.length === 0) return;
    for (const name of names) {
      const reader = this.#readers.get(name)!;
      reader.ending = { owing: new Set(), free: new Set(), asked: false, stop: () => {} };
      this.#wait(reader, reader.ending);
    }
    this.#inquire(key, names);
  }

  /** Notes which of a session's readers a server has more for. */
  owes(key: string, from: string, names: readonly string[]): void {
    for (const name of this.namesOf(key)) {
      const { ending } = this.#readers.get(name)!;
      (names.includes(name) ? ending?.owing : ending?.free)?.add(from);
    }
  }

  /** Notes that all servers have said what they owe. `answered` is false where one did not: it may have lost messages. */
  asked(names: readonly string[], answered: boolean): void {
    for (const name of names) {
      const reader = this.#readers.get(name);
      if (!reader?.ending) continue;
      if (!answered) reader.subscriber.end(lost(reader.key));
      reader.ending.asked = true;
      this.#settle(name, reader);
    }
  }

  deliver({ key, from, reader: name, begin = -1, last, messages }: Extract<Packet, { type: "messages" }>): void {
    const reader = this.#readers.get(name);
    const known = reader?.progress.get(from);
    const { ending } = reader ?? {};
    // It came after the session's end, or once more.
    if (!reader || known?.over || (ending?.asked && !ending.owing.has(from)))
      return this.#wiring.mention(from, { type: "left", reader: name });
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
    progress.over = last === true;
    if (ending) this.#wait(reader, ending);
    else if (last) this.#begin(key, [name]);
    this.#settle(name, reader);
  }

  /** Ends a reader to which nobody owes anything any more. */
  #settle(name: string, reader: Reader): void {
    const { subscriber, progress, ending } = reader;
    if (!ending?.asked || ![...ending.owing].every((from) => progress.get(from)?.over)) return;
    // One that has sent something, and says nothing now, may have more.
    if ([...progress].some(([from, { over }]) => !over && !ending.free.has(from))) return;
    ending.stop();
    this.#readers.delete(name);
    for (const from of progress.keys()) this.#wiring.mention(from, { type: "left", reader: name });
    subscriber.end();
  }

  /** Those of a silent server are lost. */
  #wait({ key, subscriber, scope }: Reader, ending: Ending): void {
    ending.stop();
    ending.stop = scope.timeout(this.#wiring.limits.interruptedFor, () => subscriber.end(lost(key)));
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
}

function lost(key: string): Disconnected {
  return new Disconnected(`session ${key} has lost messages`, { code: "gap", retryable: true });
}
