// Values behind their names in a text: NAME=value, "name": "value", --name value, "name": "password", "value": "…".

import { bare, type KindOf, type NameKind } from "./names.js";
import { behind, besideLabel, isLabel, isValue, kindOfLabel } from "./pairs.js";
import { quotedAt, type Value, valueAt, valuesIn } from "./quoted.js";
import type { Span } from "./span.js";

/** The part before the value in `NAME=value`, `"name": "value"`, `--name value`: in text, in JSON, in JSON within a text. */
const NAMED =
  /(?<![\p{L}\w.-])(?<flag>--)?(?<name>[\p{L}_][\p{L}\p{M}\w.-]{0,80})(?<between>\\{0,7}["']?\]?(?:[ \t]|\\{1,7}t){0,3}(?:=>|:=|[=:])(?:[ \t]|\\{1,7}t){0,3}(?:(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n)[ \t]{0,16})?|\s{1,3}(?<=--[\w.-]{2,80}\s{1,3})|\s{1,3}is\s{1,3})/gu;

/** The same for names in ASCII, which is faster. */
const NAMED_ASCII = new RegExp(NAMED.source.replaceAll("\\p{L}\\p{M}", "A-Za-z").replaceAll("\\p{L}", "A-Za-z"), "g");

/** Long, without spaces, with a digit: not a word. */
export function looksSecret(value: string): boolean {
  return value.length >= 12 && /\d/.test(value) && !/\s/.test(value);
}

/** Adds the values behind names. The value of another name is searched too: `note: password=…`, `"text": "login with password=…"`. */
export function assignedIn(text: string, kindOf: KindOf, found: Span[], isWhole: boolean): Span[] {
  /** Up to here no value without quotes looks like a secret, so that a long one is not read again for each name in it. */
  let plainTo = 0;
  /** Up to here the values of an object of secrets are found. */
  let insideTo = 0;
  const beside = new Beside(text, kindOf, found);
  const names = /[^\0-\x7F]/.test(text) ? NAMED : NAMED_ASCII;
  names.lastIndex = 0;
  for (let named = names.exec(text); named; named = names.exec(text)) {
    const { name: dotted = "", between = "", flag } = named.groups!;
    const name = dotted.slice(dotted.lastIndexOf(".") + 1);
    const from = names.lastIndex;
    const kind = kindIn(name, between, kindOf);
    const besideTo = beside.read(name, between, named.index, from);
    if (besideTo !== undefined) names.lastIndex = besideTo;
    if (kind === "plain" || besideTo !== undefined) continue;
    const isProse = /\sis\s/.test(between);
    if (isProse && !isWhole) continue;
    const isSecret = kind === "secret";
    if (from < plainTo && !(isSecret && (flag !== undefined || (between === "=" && !isCode(text, from))))) continue;
    // In JSON that cannot be read, an object of secrets is known by its name as well.
    if (isSecret && from >= insideTo && /["']/.test(between)) {
      const { values, to } = valuesIn(text, from);
      found.push(...values);
      insideTo = to;
    }
    const value = valueAt(text, from);
    if (value === undefined) continue;
    if (isAssigned(isSecret && !isProse, between, text.slice(value.from, value.to), value.quoted, flag !== undefined)) {
      found.push(value);
      names.lastIndex = Math.max(value.to, from);
    } else if (!value.quoted && !looksSecret(text.slice(value.from, value.to))) plainTo = Math.max(plainTo, value.to);
  }
  return found;
}

function kindIn(name: string, between: string, kindOf: KindOf): NameKind {
  return bare(name) === "pwd" && between === "=" ? "secret" : kindOf(name);
}

/** `password: string` is code, and so is `password = read()`: a value without quotes must look like one, or stand right behind `=`. */
function isAssigned(isSecret: boolean, between: string, value: string, quoted: boolean, isFlag: boolean): boolean {
  if (value === "" || /^[$%<]|^__redacted_\d+__/.test(value)) return false;
  const isCertain = quoted || isFlag || (between === "=" && !isCode(value, 0)) || isNumber(between, value);
  return (isSecret && isCertain) || looksSecret(value);
}

/** `"pin": 1234`: a number of JSON. */
const isNumber = (between: string, value: string) => /^\\{0,7}"/.test(between) && /^-?\d[\d.]*$/.test(value);

const CODE = /[a-z]+\./y;

/** Whether a property is read at a position, as in `password=process.env`. */
function isCode(text: string, at: number): boolean {
  CODE.lastIndex = at;
  return CODE.test(text);
}

/** The most characters between a name and the value beside it. */
const NEAR = 300;
/** The most characters of a name. */
const LONG = 200;

/** A value whose name may follow. */
interface Held {
  readonly name: string;
  readonly value: Value;
  /** Whether it is no code. */
  readonly isCertain: boolean;
}

/** Finds `"name": "password", "value": "…"`, in either order. */
class Beside {
  readonly #text: string;
  readonly #kindOf: KindOf;
  readonly #found: Span[];
  #label: { readonly kind: NameKind; readonly at: number } | undefined;
  #value: Held | undefined;
  /** Up to here one word goes on, so that it is not read again for each name in it. */
  #longTo = 0;

  constructor(text: string, kindOf: KindOf, found: Span[]) {
    this.#text = text;
    this.#kindOf = kindOf;
    this.#found = found;
  }

  /** Reads a property. Returns the end of its value, if it is a secret. */
  read(name: string, between: string, at: number, from: number): number | undefined {
    if (from < this.#longTo || !(isLabel(name) || isValue(name))) return undefined;
    const value = valueAt(this.#text, from);
    if (!value) return undefined;
    if (!value.quoted && value.to - from > LONG) this.#longTo = value.to;
    if (isLabel(name)) this.#readLabel(at, value);
    if (!isValue(name)) return undefined;
    const isCertain = value.quoted || (between === "=" && !isCode(this.#text, from));
    this.#value = { name, value, isCertain };
    if (!this.#label || !this.#isNear(this.#label.at, at)) return undefined;
    return this.#add(this.#label.kind, this.#value) ? value.to : undefined;
  }

  #readLabel(at: number, label: Value): void {
    if (label.to - label.from > LONG) return;
    const kind = kindOfLabel(this.#text.slice(label.from, label.to), this.#kindOf);
    this.#label = { kind, at: label.to };
    const before = this.#value;
    this.#value = undefined;
    if (before && this.#isNear(before.value.to, at) && this.#add(kind, before)) this.#label = undefined;
  }

  #add(label: NameKind, { name, value, isCertain }: Held): boolean {
    const kind = besideLabel(label, name);
    const secret = this.#text.slice(value.from, value.to);
    if (kind === "plain" || value.to === value.from || /^[$%<]/.test(secret)) return false;
    if (!(kind === "secret" && isCertain) && !looksSecret(secret)) return false;
    this.#found.push(value);
    return true;
  }

  /** Whether nothing ends one object, list item or element and begins another between two positions. */
  #isNear(from: number, to: number): boolean {
    return to >= from && to - from <= NEAR && !/[{}<>]|\n\s*-\s/.test(this.#text.slice(from, to));
  }
}

/** A name in quotes before a text in quotes, as in a list of arguments or headers. */
const LISTED =
  /(?<=(?<pairs>[[\]]\s{0,40},?\s{0,40}\[\s{0,40}\\{0,7})?["'])(?<name>-{0,2}[A-Za-z_][\w.-]{0,80})\\{0,7}["']\s{0,3},\s{0,16}(?=\\{0,7}["'])/g;

/** Adds the texts that the text before them in a list names. */
export function listedIn(text: string, kindOf: KindOf, found: Span[]): Span[] {
  if (!text.includes(",")) return found;
  for (const { index, 0: match, groups } of text.matchAll(LISTED)) {
    const { name = "", pairs } = groups!;
    const value = quotedAt(text, index + match.length);
    if (!value || value.to === value.from) continue;
    const listed = text.slice(value.from, value.to);
    const kind = pairs === undefined ? behind(name, listed, kindOf) : kindOfLabel(name, kindOf);
    if (kind === "secret" || (kind === "suspect" && looksSecret(listed))) found.push(value);
  }
  return found;
}
