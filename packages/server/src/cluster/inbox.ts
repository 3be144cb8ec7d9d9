import { type AnyMessage, Disconnected } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Sent, Subscriber } from "../ports.js";
import type { Followed } from "./follow.js";
import type { Owing } from "./members.js";
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

/** A reader whose session has ended. It ends after the last message of every server that may have some for it. */
interface Ending {
  /** The servers that follow the session, or ended it, and those that have said that they send what they have. */
  readonly awaited: Set<string>;
  /** Whether all servers have answered. */
  asked: boolean;
  /** When one of them last sent something new, and how often they were asked since. */
  heard: number;
  rounds: number;
}

/** How often servers are asked, at least, before they count as silent: a busy process receives nothing for seconds. */
const ROUNDS = 3;

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
  readonly #followed: (key: string) => Followed | undefined;
  readonly #inquire: (key: string, readers: readonly string[]) => void;
  readonly #readers = new Map<string, Reader>();

  /** `followed` finds a followed session; `inquire` asks all servers for what they have for readers, and calls `owes` and `asked`. */
  constructor(
    wiring: Wiring,
    followed: (key: string) => Followed | undefined,
    inquire: (key: string, readers: readonly string[]) => void,
  ) {
    this.#wiring = wiring;
    this.#followed = followed;
    this.#inquire = inquire;
  }

  add(name: string, key: string, subscriber: Subscriber, scope: Scope): void {
    this.#readers.set(name, { key, subscriber, scope, progress: new Map() });
    scope.add(() => this.#readers.delete(name));
  }

  /** The readers of a session. Those whose session has ended are to be asked for, not introduced. */
  namesOf(key: string): { readonly reading: readonly string[]; readonly ending: readonly string[] } {
    const names = [...this.#readers].filter(([, reader]) => reader.key === key).map(([name]) => name);
    const isEnding = (name: string): boolean => this.#readers.get(name)!.ending !== undefined;
    return { reading: names.filter((name) => !isEnding(name)), ending: names.filter(isEnding) };
  }

  /** Notes that servers have ended a session. Returns its readers: each ends after what other servers have for it. */
  end(key: string, enders: readonly string[]): Set<Subscriber> {
    const { reading, ending } = this.namesOf(key);
    this.#begin(key, reading, enders);
    return new Set([...reading, ...ending].map((name) => this.#readers.get(name)!.subscriber));
  }

  #begin(key: string, names: readonly string[], enders: readonly string[]): void {
    if (names.length === 0) return;
    const servers = this.#followed(key)?.servers ?? [];
    for (const name of names) {
      const reader = this.#readers.get(name)!;
      reader.ending = { awaited: new Set([...enders, ...servers]), asked: false, heard: performance.now(), rounds: 0 };
    }
    this.#inquire(key, names);
  }

  /** Ends the readers of a session that may have ended unnoticed. */
  lose(key: string): void {
    for (const reader of [...this.#readers.values()]) if (reader.key === key) reader.subscriber.end(lost(key));
  }

  /** Whether one of these readers still waits for its end. */
  isWaiting(names: readonly string[]): boolean {
    return names.some((name) => this.#readers.has(name));
  }

  /** The servers that owe one of these readers its end. */
  owedBy(names: readonly string[]): Set<string> {
    return new Set(names.flatMap((name) => (this.#readers.has(name) ? owers(this.#readers.get(name)!) : [])));
  }

  /** Notes that a server has closed. Readers that lack something of it go on to wait for it, as for a server that was killed. */
  depart(server: string, owing: Owing): void {
    const last = new Map(owing);
    for (const [name, reader] of [...this.#readers]) {
      const progress = reader.progress.get(server);
      if ((last.get(name) ?? -1) > (progress?.place ?? -1)) continue;
      reader.ending?.awaited.delete(server);
      if (progress) progress.over = true;
      this.#settle(name, reader);
    }
  }

  /** Notes that a server sends its last messages to the readers of a session that has ended. */
  owes(key: string, from: string): void {
    for (const name of this.namesOf(key).ending) {
      const ending = this.#readers.get(name)!.ending!;
      if (!ending.awaited.has(from)) hear(ending);
      ending.awaited.add(from);
    }
  }

  /**
   * Notes that servers were asked what they have for readers, whether all have answered, and whether all surely were asked. What silent ones
   * have is lost.
   */
  asked(names: readonly string[], answered: boolean, sure: boolean): void {
    for (const name of names) {
      const reader = this.#readers.get(name);
      const ending = reader?.ending;
      if (!ending) continue;
      ending.asked ||= answered && sure;
      this.#settle(name, reader);
      ending.rounds++;
      const silent = performance.now() - ending.heard > this.#wiring.limits.interruptedFor && ending.rounds > ROUNDS;
      if (silent && !(answered && owers(reader).length === 0) && this.#readers.has(name))
        reader.subscriber.end(lost(reader.key));
    }
  }

  deliver({ key, from, reader: name, begin = -1, last, messages }: Extract<Packet, { type: "messages" }>): void {
    const reader = this.#readers.get(name);
    const known = reader?.progress.get(from);
    // It came after the reader's end, or once more.
    if (!reader || (known?.over && messages.every(([place]) => place <= known.place)))
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
    if (reader.ending) hear(reader.ending);
    else if (last) this.#begin(key, [name], [from]);
    this.#settle(name, reader);
  }

  /** Ends a reader to which nobody owes anything any more. */
  #settle(name: string, reader: Reader): void {
    const { subscriber, progress, ending } = reader;
    if (!ending?.asked || owers(reader).length > 0) return;
    this.#readers.delete(name);
    for (const from of progress.keys()) this.#wiring.mention(from, { type: "left", reader: name });
    subscriber.end();
  }

  /** Confirms in one packet what was received here and what the reader has. */
  confirm(key: string, from: string, name: string, progress = this.#readers.get(name)?.progress.get(from)): void {
    if (!progress || progress.due || progress.full > 0) return;
    progress.due = true;
    queueMicrotask(() => {
      progress.due = false;
      const { place, had } = progress;
      const packet: Packet = { type: "received", key, reader: name, place, had };
      this.#wiring.insist(from, packet, this.#followed(key)?.scope ?? this.#wiring.root);
    });
  }
}

/** The servers that may have something, and have not said that nothing follows. */
function owers({ progress, ending }: Reader): string[] {
  // A server that has sent something may have more, also where it does not answer.
  return [...(ending?.awaited ?? []), ...progress.keys()].filter((from) => !progress.get(from)?.over);
}

function hear(ending: Ending): void {
  ending.heard = performance.now();
  ending.rounds = 0;
}

function lost(key: string): Disconnected {
  return new Disconnected(`session ${key} has lost messages`, { code: "gap", retryable: true });
}
