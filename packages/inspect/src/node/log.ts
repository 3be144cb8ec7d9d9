import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { type Conversations, type Entry, type Header, type read, Verifier } from "@parlance/recordings";
import { formatLine, headerOf, leftOutAs } from "@parlance/recordings/internal/entries";
import type { AnyMessage } from "@parlance/wire";
import { type Found, MAX_ROW_TEXT, type Row, type RowFlaw } from "../row.js";
import type { AskedIn } from "./answers.js";
import { mayEscapeEdits } from "./edit-texts.js";

type Ending = Awaited<ReturnType<typeof read>>;
type Note = Parameters<NonNullable<ConstructorParameters<typeof Verifier>[2]>>[0];
type OpenAsk = ReturnType<Verifier["asks"]>[number];

/** The most that a log holds; the oldest entries are dropped first. */
export interface LogLimits {
  /** @default 200,000 */
  readonly entries?: number | undefined;
  /** Characters of all texts. @default 128 Mi */
  readonly size?: number | undefined;
}

/** What an entry takes beside its text, in characters. */
const ENTRY = 200;

/** Characters of a text in which edits are looked for. */
const LOOKED_AT = 64 * 1024;

interface Item {
  readonly row: Row;
  readonly entry?: Entry | undefined;
  readonly size: number;
}

/** A conversation that the page shows: the newest entries, each with what `verify` finds in it. */
export class Log {
  readonly id: string;
  name: string;
  readonly talk: Conversations;
  header: Header | undefined;
  /** How an opened file ended. */
  ended: Ending | undefined;
  readonly #limits: Required<LogLimits>;
  readonly #verifier: Verifier;
  readonly #items = new Map<number, Item>();
  readonly #asks = new Map<AnyMessage, number>();
  /** Row number of an ask that waits -> what its answers are made of. */
  readonly #asked = new Map<number, AskedIn>();
  /** Messages and operations that ask or answer. */
  readonly #exchanged: ReadonlySet<string>;
  readonly #calls = new Map<number, { call?: string; session?: string; refused?: number }>();
  readonly #wakes = new Set<() => void>();
  #last = 0;
  #size = 0;
  #flaws: RowFlaw[] = [];
  #note: Note | undefined;

  constructor(id: string, name: string, talk: Conversations, limits: LogLimits = {}) {
    this.id = id;
    this.name = name;
    this.talk = talk;
    this.#exchanged = new Set(
      (talk.contract.exchanges ?? []).flatMap(({ ask, answers }) => [
        ask,
        ...answers.flatMap(({ message, operation }) => message ?? operation ?? []),
      ]),
    );
    this.#limits = { entries: 200_000, size: 128 * 1024 * 1024, ...limits };
    this.#verifier = new Verifier(
      talk,
      ({ rule, message, at }) => {
        // Reported once. Each row has a mark of its own.
        if (rule !== "form") this.#flaws.push({ rule, message, ...(at && { at }) });
      },
      (note) => {
        this.#note = note;
      },
    );
  }

  /** The state of an opened file in words. */
  get ending(): string | undefined {
    const { state, reason } = this.ended ?? {};
    return reason === undefined ? state : `${state}: ${reason}`;
  }

  /** The number of the last entry. */
  get last(): number {
    return this.#last;
  }

  /** The number of entries that are no longer held. */
  get dropped(): number {
    return this.#last - this.#items.size;
  }

  begin(header: Header): void {
    this.header = header;
    this.#verifier.header(header);
  }

  /** Takes what a recorder writes. */
  readonly write = (line: string): void => {
    const parsed = JSON.parse(line);
    if (this.header) this.add(parsed);
    else this.begin(parsed);
  };

  add(entry: Entry): void {
    this.#flaws = [];
    this.#note = undefined;
    const n = this.#last + 1;
    this.#verifier.entry(entry, n);
    const row = this.#row(n, entry);
    this.#keep({ row, entry, size: row.size + ENTRY });
    if (entry.kind === "end" || entry.kind === "close" || entry.kind === "error") this.#forget(entry.c);
  }

  /** A disturbance, as a row of its own. */
  fault(c: number, text: string): void {
    const t = this.header ? Date.now() - Date.parse(this.header.began) : 0;
    const row: Row = { n: this.#last + 1, t, c, from: "server", kind: "fault", text, size: text.length };
    this.#keep({ row, size: text.length });
  }

  /** The end of an opened file. */
  end(ending: Ending): void {
    this.ended = ending;
    this.#wake();
  }

  row(n: number): Row | undefined {
    return this.#items.get(n)?.row;
  }

  entry(n: number): Entry | undefined {
    return this.#items.get(n)?.entry;
  }

  /** An ask that waits, in its conversation. */
  asked(n: number): AskedIn | undefined {
    return this.#asked.get(n);
  }

  /** The entries that are held, oldest first. */
  *entries(c?: number): Generator<Entry> {
    for (const { entry } of this.#items.values()) if (entry && (c === undefined || entry.c === c)) yield entry;
  }

  /** A recording of the entries that are held, as the text of a file. */
  *lines(): Generator<string> {
    const hash = createHash("sha256");
    let lines = 0;
    const hashed = (line: string) => {
      hash.update(line);
      lines++;
      return line;
    };
    if (this.header) yield hashed(formatLine(this.header));
    for (const entry of this.entries()) yield hashed(formatLine(entry));
    yield formatLine({ end: { lines, sha256: hash.digest("hex") } });
  }

  /** Calls back after each change, until the returned function is called. */
  listen(wake: () => void): () => void {
    this.#wakes.add(wake);
    return () => void this.#wakes.delete(wake);
  }

  #keep(item: Item): void {
    this.#items.set(++this.#last, item);
    this.#size += item.size;
    while (this.#items.size > this.#limits.entries || (this.#size > this.#limits.size && this.#items.size > 1)) {
      const oldest = this.#last - this.#items.size + 1;
      this.#size -= this.#items.get(oldest)!.size;
      this.#items.delete(oldest);
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
  }

  #row(n: number, entry: Entry): Row {
    const text = textOf(entry);
    const note = this.#note as Note | undefined;
    const known = this.#calls.get(entry.c) ?? {};
    const call = note?.call ?? known.call ?? this.#callOf(entry);
    const session = note?.session ?? known.session;
    const refused = entry.kind === "response" && entry.status >= 400 ? entry.status : known.refused;
    this.#calls.set(entry.c, {
      ...(call !== undefined && { call }),
      ...(session !== undefined && { session }),
      ...(refused !== undefined && { refused }),
    });
    const isMessage = entry.kind === "event" || entry.kind === "frame";
    return {
      n,
      t: entry.t,
      c: entry.c,
      from: entry.from,
      kind: entry.kind,
      ...(call !== undefined && { call }),
      ...(session !== undefined && { session }),
      ...(isMessage && note?.type !== undefined && { type: note.type }),
      ...(isMessage && note?.unknown && { unknown: true }),
      ...(isMessage && note?.rereading !== undefined && { rereading: note.rereading }),
      text: text.slice(0, MAX_ROW_TEXT),
      size: text.length,
      ...(entry.kind === "response" && { status: entry.status }),
      ...(entry.kind === "body" && entry.from === "server" && refused !== undefined && { status: refused }),
      ...(entry.kind === "request" && entry.socket && { socket: true }),
      ...(entry.kind === "request" && headerOf(entry.headers, "last-event-id") !== undefined && { resumes: true }),
      ...(this.#flaws.length > 0 && { flaws: this.#flaws }),
      ...(mayEscapeEdits(text.slice(0, LOOKED_AT)) && { edits: true }),
      ...this.#asking(n, note),
    };
  }

  /** Before the verifier has read a whole request: what its path means. */
  #callOf(entry: Entry): string | undefined {
    return entry.kind === "request" ? this.talk.namesAt(entry.method, entry.target)?.[0] : undefined;
  }

  #asking(n: number, note: Note | undefined): Pick<Row, "ask" | "settles"> {
    // Most messages neither ask nor answer, and the asks of all sessions take time to list.
    if (!note || !(this.#exchanged.has(note.type ?? "") || this.#exchanged.has(note.call))) return {};
    const open = this.#verifier.asks();
    const messages = new Set(open.map(({ waiting }) => waiting.message));
    const settles = [...this.#asks].filter(([message]) => !messages.has(message)).map(([, at]) => at);
    for (const [message, at] of this.#asks)
      if (settles.includes(at)) {
        this.#asks.delete(message);
        this.#asked.delete(at);
      }
    const own = note.message && open.find(({ waiting }) => waiting.message === note.message);
    const ask = own && askOf(own);
    if (ask) {
      const { call, session, input } = note;
      this.#asks.set(own.waiting.message, n);
      this.#asked.set(n, { ask, message: { ...own.waiting.message }, call, session, input });
    }
    return { ...(ask && { ask }), ...(settles.length > 0 && { settles }) };
  }

  #forget(c: number): void {
    this.#calls.delete(c);
  }
}

function askOf({ by, waiting: { exchange, key } }: OpenAsk) {
  return { by, ask: exchange.ask, ...(key !== undefined && { key }) };
}

/** The text of an entry in one line of the timeline. */
export function textOf(entry: Entry): string {
  switch (entry.kind) {
    case "request":
      return `${entry.method} ${entry.target}`;
    case "response":
      return `${entry.status} ${headerOf(entry.headers, "content-type") ?? ""}`.trimEnd();
    case "close":
      return `${entry.code} ${entry.reason}`.trimEnd();
    case "error":
      return entry.text;
    case "body":
    case "event":
    case "comment":
    case "frame":
      return entry.text ?? (entry.base64 === undefined ? leftOutAs(entry) : `base64 ${entry.base64}`);
    default:
      return "";
  }
}

/** Characters that are searched before others get a turn. */
const PART = 1024 * 1024;
/** What a row takes that is not searched, in characters. */
const SKIPPED = 10;

/** The rows from a number on whose entry holds the words behind what the page has of it. Case does not matter. */
export async function searchRows(log: Log, words: string, from: number): Promise<Found> {
  const wanted = words.toLowerCase();
  const rows: number[] = [];
  const { last } = log;
  let searched = 0;
  for (let n = Math.max(from, log.dropped + 1); n <= last; n++) {
    const entry = (log.row(n)?.size ?? 0) > MAX_ROW_TEXT ? log.entry(n) : undefined;
    const text = entry ? textOf(entry) : "";
    if (entry && text.toLowerCase().includes(wanted)) rows.push(n);
    searched += text.length + SKIPPED;
    if (searched < PART) continue;
    searched = 0;
    await turn();
  }
  return { rows, last };
}
