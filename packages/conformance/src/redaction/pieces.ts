import { isObject } from "@parlance/wire";
import { bounded } from "./names.js";
import { jsonIn } from "./parts.js";
import { randomIn } from "./random.js";
import type { Redactor } from "./redactor.js";
import { merged, type Span } from "./span.js";
import { unfinished } from "./unfinished.js";

/** Characters of one property in which a secret is searched for across messages. Twice as many wait at most. */
const WINDOW = 8 * 1024;

/** Characters before the end of a text in which a command, an element, a list or a line may begin that the next message goes on with. */
const CONTEXT = 400;

/** The most characters of a piece of a text among those of others. */
const SHORT = 12;

/** The fewest characters of a value that is none of a text where it is repeated at once: of a type or id, and of any other. */
const TAG = 3;
const REPEATED = 8;

/** The most properties that are followed at once. */
const MOST_RUNS = 500;

/** A message that waits for the next ones. */
interface Waiting {
  readonly text: string;
  /** What it is as JSON: an object, a list or a text; undefined for any other, and for a piece of one. */
  readonly json: object | string | undefined;
  /** Without the secrets that are whole in it. They are known from now on. */
  readonly clean: string;
  readonly settle: (clean: string) => void;
  /** The properties that may hold the beginning of a secret. */
  open: number;
  /** Pieces of secrets, by place. */
  readonly cuts: Map<string, Span[]>;
}

/** One property of successive messages: its values as one text. */
interface Run {
  readonly place: string;
  readonly isId: boolean;
  /** The type or id of all its messages; undefined once there are several. */
  of: string | undefined;
  /** Whether it has had several. */
  isMixed: boolean;
  text: string;
  /** The places of the values of messages that wait, or are newest. */
  parts: { readonly waiting: Waiting; readonly from: number; readonly to: number }[];
  last: string;
}

/**
 * Finds secrets that one side sends in pieces: the values of a property of successive messages are one text, and so are those of the
 * messages of one type, index or id, which others may interrupt. A message waits until no secret can begin in it.
 */
export class Pieces {
  readonly #redactor: Redactor;
  readonly #runs = new Map<string, Run>();
  /** Whether a message was no JSON: a short one such as `"x" ` may be a piece of a text then. */
  #isPlain = false;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** `settle` is called with the message's text without its secrets: now, by a later message, or by `settle`. `of` is what it belongs to. */
  add(text: string, settle: (clean: string) => void, of = ""): void {
    const object = jsonIn(text);
    const clean = this.#redactor.piece(text, object);
    const json = this.#isPlain && text.length <= SHORT ? undefined : (object ?? stringIn(text));
    if (json === undefined) this.#isPlain = true;
    const waiting: Waiting = { text, json, clean, settle, open: 1, cuts: new Map() };
    const owner = typeof json === "object" ? of + identityOf(json) : of;
    eachText(json ?? text, { at: "", name: "" }, (value, { at, name }) => {
      const run = this.#runs.get(at) ?? this.#begin(at, at, this.#redactor.isId(name), owner);
      // The newest, so that no other pushes it out while it is used.
      this.#runs.delete(at);
      this.#runs.set(at, run);
      if (!isIdentity(name)) this.#tell(run, owner, waiting, value);
      this.#join(run, value, waiting, isIdentity(name) ? TAG : REPEATED);
    });
    this.#release(waiting);
  }

  /** Settles every message that waits. What follows is still searched for the rest of a secret. */
  settle(): void {
    for (const run of this.#runs.values()) this.#settle(run);
  }

  #settle(run: Run): void {
    this.#search(run);
    this.#cutBeginning(run);
    for (const { waiting } of run.parts.splice(0)) this.#release(waiting);
  }

  /** Follows what belongs to one type or id as a text of its own, once a property has had two. */
  #tell(run: Run, of: string, waiting: Waiting, value: string): void {
    if (run.of === of) return;
    if (run.of !== undefined) {
      const first = this.#begin(`${run.place} ${run.of}`, run.place, run.isId);
      first.text = run.text;
      first.parts = [...run.parts];
      for (const part of first.parts) part.waiting.open++;
      run.of = undefined;
      run.isMixed = true;
    }
    const key = `${run.place} ${of}`;
    this.#join(this.#runs.get(key) ?? this.#begin(key, run.place, run.isId), value, waiting, REPEATED);
  }

  #join(run: Run, value: string, waiting: Waiting, least: number): void {
    // A tag or an id, and no piece of a text: two short ones may be equal.
    const isSame = value === run.last && value.length >= least;
    // A text that repeats all that came so far begins anew.
    if (!isSame && run.last.length > 2 && value.startsWith(run.last)) this.#cutBeginning(run);
    run.last = value;
    if (isSame || value === "") return;
    const from = run.text.length;
    run.text += value;
    run.parts.push({ waiting, from, to: run.text.length });
    waiting.open++;
    const isFull = run.text.length > 2 * WINDOW;
    // So that a text is searched a few times, however short its pieces are.
    if (!isFull && (run.text.length < 3 * CONTEXT || !/\s/.test(value))) return;
    const open = Math.min(
      run.text.length - CONTEXT,
      unfinished(run.text, this.#redactor.kindOf),
      this.#redactor.unfinished(run.text),
    );
    const keep = isFull ? Math.max(open, run.text.length - WINDOW) : open;
    if (run.parts[0]!.to > keep) return;
    this.#search(run);
    this.#trim(run, keep);
  }

  /** Cuts off the beginning of a secret that was seen at the end of the text so far: its rest does not follow. */
  #cutBeginning(run: Run): void {
    const from = this.#redactor.begun(run.text);
    if (from < run.text.length) this.#mark(run, [{ from, to: run.text.length }]);
  }

  #begin(key: string, place: string, isId: boolean, of?: string): Run {
    const run: Run = { place, isId, of, isMixed: false, text: "", parts: [], last: "" };
    if (this.#runs.size >= MOST_RUNS) {
      const [oldest, old] = this.#runs.entries().next().value!;
      this.#settle(old);
      this.#runs.delete(oldest);
    }
    this.#runs.set(key, run);
    return run;
  }

  /**
   * Marks the pieces of secrets in the messages that wait. It is called before one is released and not for each: a secret may be known only
   * by what follows it, such as the host of a URL.
   */
  #search(run: Run): void {
    const { text, parts, isId } = run;
    // What one message has is found in it.
    if (parts.length < 2 && parts[0]?.from === 0) return;
    const found = merged(this.#redactor.find(text)).filter((span) => this.#isOne(run, span));
    // What comes before and after may hold them again.
    for (const { from, to } of found) this.#redactor.replace(text.slice(from, to));
    const again = found.length === 0 ? [] : this.#redactor.again(text).filter((span) => this.#isOne(run, span));
    const known = [...found, ...again];
    const random = isId ? [] : randomIn(text, []).filter((span) => this.#isOne(run, span));
    this.#mark(run, [...known, ...random]);
  }

  #mark({ parts, place }: Run, spans: readonly Span[]): void {
    let first = 0;
    for (const span of merged(spans)) {
      while (first < parts.length && parts[first]!.to <= span.from) first++;
      for (let at = first; at < parts.length && parts[at]!.from < span.to; at++) {
        const { waiting, from, to } = parts[at]!;
        const cuts = waiting.cuts.get(place) ?? [];
        waiting.cuts.set(place, cuts);
        cuts.push({ from: Math.max(span.from, from) - from, to: Math.min(span.to, to) - from });
      }
    }
  }

  /** Whether a span is in pieces of one text, as far as that can be known. Those of several types or ids are one only if all are short. */
  #isOne({ parts, of, isMixed }: Run, { from, to }: Span): boolean {
    if (!isMixed || of !== undefined) return true;
    const first = parts.findIndex((part) => part.to > from);
    const last = parts.findLastIndex((part) => part.from < to);
    // Its name may stand in the part before.
    return parts.slice(Math.max(0, first - 1), last + 1).every((part) => part.to - part.from <= SHORT);
  }

  /** Releases the messages before a position, and forgets their text. */
  #trim(run: Run, keep: number): void {
    const settled = run.parts.filter(({ to }) => to <= keep);
    run.parts = run.parts
      .filter(({ to }) => to > keep)
      .map((part) => ({ ...part, from: part.from - keep, to: part.to - keep }));
    // The part that holds the position is kept whole.
    const back = Math.min(0, ...run.parts.map((part) => part.from));
    run.text = run.text.slice(keep + back);
    if (back < 0) run.parts = run.parts.map((part) => ({ ...part, from: part.from - back, to: part.to - back }));
    for (const { waiting } of settled) this.#release(waiting);
  }

  #release(waiting: Waiting): void {
    if (--waiting.open > 0) return;
    // A secret may have been found since it came.
    waiting.settle(
      waiting.cuts.size === 0 ? this.#redactor.known(waiting.clean) : this.#redactor.piece(this.#cut(waiting)),
    );
  }

  #cut({ text, json, cuts }: Waiting): string {
    const clean = (value: string, key: string) => {
      let rest = value;
      for (const { from, to } of merged(cuts.get(key) ?? []).reverse())
        rest = rest.slice(0, from) + this.#redactor.replacePiece(rest.slice(from, to)) + rest.slice(to);
      return rest;
    };
    if (json === undefined) return clean(text, "");
    return JSON.stringify(typeof json === "string" ? clean(json, "") : mapped(json, "", clean));
  }
}

const identities = bounded<boolean>();

/** Whether a property says which stream of texts a message belongs to. */
const isIdentity = (name: string) =>
  identities(name, (one) => /(?:type|kind|event|role|index|method|update|channel)$|(?:^|_|[a-z](?=I))id$/i.test(one));

/** Where a text stands in a message: the path of its property, and its name. */
interface Place {
  readonly at: string;
  readonly name: string;
}

/** The text that a text is as JSON. */
function stringIn(text: string): string | undefined {
  if (!/^\s*"/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The deepest place in which a secret in pieces is found. */
const DEEPEST = 64;

/** Calls `visit` for each text in a message, and in JSON that is a text in it. */
function eachText(value: unknown, place: Place, visit: (value: string, place: Place) => void, depth = 0): void {
  if (typeof value === "string") {
    const json = depth > 0 && depth <= DEEPEST ? jsonIn(value) : undefined;
    if (json === undefined) visit(value, place);
    else eachText(json, { ...place, at: `${place.at}/` }, visit, depth + 1);
  } else if (depth <= DEEPEST && typeof value === "object" && value !== null) {
    const object = value as Readonly<Record<string, unknown>>;
    for (const key of Object.keys(object))
      eachText(
        object[key],
        { at: `${place.at}/${key}`, name: Array.isArray(value) ? place.name : key },
        visit,
        depth + 1,
      );
  }
}

/** The types and ids in a message, which tell the stream of texts that it belongs to. */
function identityOf(value: object, depth = 0): string {
  let of = "";
  for (const key in value) {
    const inner = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof inner === "object" && inner !== null) of += depth < 6 ? identityOf(inner, depth + 1) : "";
    else if ((typeof inner === "number" || (typeof inner === "string" && inner.length <= 100)) && isIdentity(key))
      of += ` ${inner}`;
  }
  return of;
}

/** The same value with each text changed. */
function mapped(value: unknown, at: string, map: (value: string, at: string) => string, depth = 0): unknown {
  if (typeof value === "string") {
    const json = depth > 0 && depth <= DEEPEST ? jsonIn(value) : undefined;
    if (json === undefined) return map(value, at);
    const [before, after] = [json, mapped(json, `${at}/`, map, depth + 1)].map((one) => JSON.stringify(one));
    // A text without cuts keeps its own spaces and numbers.
    return before === after ? value : after;
  }
  if (depth > DEEPEST) return value;
  if (Array.isArray(value)) return value.map((item, index) => mapped(item, `${at}/${index}`, map, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapped(item, `${at}/${key}`, map, depth + 1)]),
  );
}
