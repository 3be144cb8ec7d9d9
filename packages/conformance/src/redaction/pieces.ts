import { isObject } from "@parlance/wire";
import { jsonIn } from "./parts.js";
import type { Redactor } from "./redactor.js";
import { merged, type Span } from "./span.js";
import { unfinished } from "./unfinished.js";

/** Characters of one property in which a secret is searched for across messages. Twice as many wait at most. */
const WINDOW = 8 * 1024;

/** A message that waits for the next ones. */
interface Waiting {
  readonly text: string;
  /** Without the secrets that are whole in it. They are known from now on. */
  readonly clean: string;
  readonly settle: (clean: string) => void;
  /** The properties that may hold the beginning of a secret. */
  open: number;
  /** Pieces of secrets, by property. */
  readonly cuts: Map<string, Span[]>;
}

/** One property of successive messages: its values as one text. */
interface Run {
  text: string;
  /** The places of the values of messages that wait, or are newest. */
  parts: { readonly waiting: Waiting; readonly from: number; readonly to: number }[];
  last: string;
}

/**
 * Finds secrets that one side sends in pieces: the values of a property of successive messages are one text. A message waits until no
 * secret can begin in it.
 */
export class Pieces {
  readonly #redactor: Redactor;
  readonly #runs = new Map<string, Run>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** `settle` is called with the message's text without its secrets: now, by a later message, or by `settle`. */
  add(text: string, settle: (clean: string) => void): void {
    const json = jsonIn(text);
    const waiting: Waiting = { text, clean: this.#redactor.text(text, json), settle, open: 1, cuts: new Map() };
    if (json === undefined) this.#join("", text, waiting);
    else eachText(json, "", (value, key) => this.#join(key, value, waiting));
    this.#release(waiting);
  }

  /** Settles every message that waits. What follows is still searched for the rest of a secret. */
  settle(): void {
    for (const [key, run] of this.#runs) {
      this.#search(run, key);
      for (const { waiting } of run.parts.splice(0)) this.#release(waiting);
    }
  }

  #join(key: string, value: string, waiting: Waiting): void {
    const run = this.#runs.get(key) ?? { text: "", parts: [], last: "" };
    this.#runs.set(key, run);
    // A tag or an id, and no piece of a text.
    const isSame = value === run.last && value.length > 2;
    run.last = value;
    if (isSame || value === "") return;
    const from = run.text.length;
    run.text += value;
    run.parts.push({ waiting, from, to: run.text.length });
    waiting.open++;
    const isFull = run.text.length > 2 * WINDOW;
    // The last word goes on, and nothing before it waits.
    if (!isFull && !/\s/.test(value)) return;
    const open = Math.min(unfinished(run.text, this.#redactor.kindOf), this.#redactor.unfinished(run.text));
    const keep = isFull ? Math.max(open, run.text.length - WINDOW) : open;
    if (run.parts[0]!.to > keep) return;
    this.#search(run, key);
    this.#trim(run, keep);
  }

  /**
   * Marks the pieces of secrets in the messages that wait. It is called before one is released and not for each: a secret may be known only
   * by what follows it, such as the host of a URL.
   */
  #search({ text, parts }: Run, key: string): void {
    let first = 0;
    for (const span of merged(this.#redactor.find(text))) {
      // What comes later may hold it whole.
      this.#redactor.replace(text.slice(span.from, span.to));
      while (first < parts.length && parts[first]!.to <= span.from) first++;
      for (let at = first; at < parts.length && parts[at]!.from < span.to; at++) {
        const { waiting, from, to } = parts[at]!;
        const cuts = waiting.cuts.get(key) ?? [];
        waiting.cuts.set(key, cuts);
        cuts.push({ from: Math.max(span.from, from) - from, to: Math.min(span.to, to) - from });
      }
    }
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
    waiting.settle(waiting.cuts.size === 0 ? waiting.clean : this.#redactor.text(this.#cut(waiting)));
  }

  #cut({ text, cuts }: Waiting): string {
    const clean = (value: string, key: string) => {
      let rest = value;
      for (const { from, to } of merged(cuts.get(key) ?? []).reverse())
        rest = rest.slice(0, from) + this.#redactor.replacePiece(rest.slice(from, to)) + rest.slice(to);
      return rest;
    };
    const json = jsonIn(text);
    return json === undefined ? clean(text, "") : JSON.stringify(mapped(json, "", clean));
  }
}

/** Calls `visit` for each text in a message, with its place in it. */
function eachText(value: unknown, at: string, visit: (value: string, at: string) => void, depth = 0): void {
  if (typeof value === "string") visit(value, at);
  else if (depth <= 64 && typeof value === "object" && value !== null)
    for (const key of Object.keys(value))
      eachText((value as Readonly<Record<string, unknown>>)[key], `${at}/${key}`, visit, depth + 1);
}

/** The same value with each text changed. */
function mapped(value: unknown, at: string, map: (value: string, at: string) => string, depth = 0): unknown {
  if (typeof value === "string") return map(value, at);
  if (depth > 64) return value;
  if (Array.isArray(value)) return value.map((item, index) => mapped(item, `${at}/${index}`, map, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapped(item, `${at}/${key}`, map, depth + 1)]),
  );
}
