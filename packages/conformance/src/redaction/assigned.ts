// Values behind their names in a text: NAME=value, "name": "value", --name value, "name": "password", "value": "…".

import { isSecret, looksSecret, mayBeSecret } from "./looks.js";
import { bare, type KindOf, type NameKind } from "./names.js";
import { behind, besideLabel, isLabel, isValue, kindOfLabel } from "./pairs.js";
import { quotedAt, type Value, valueAt, valuesIn } from "./quoted.js";
import type { Span } from "./span.js";

const SPACE = "(?:[ \\t]|\\\\{1,7}t){0,3}";
const LINE = "(?:\\r?\\n|(?:\\\\{1,7}r)?\\\\{1,7}n)[ \\t]{0,16}";
const QUOTE = "\\\\{0,7}[\"'`]";

/** What stands between a name and its value. */
const BETWEEN = [
  // A type: password: str = "…"
  `(?::|[ \\t])[ \\t]{0,2}&?[A-Za-z][\\w<>[\\].|]{0,30}[ \\t]{0,3}=[ \\t]{0,3}(?=[bfru]?${QUOTE})`,
  // A separator, with what YAML and code write before a value.
  `\\\\{0,7}["']?\\]?(?:\\[\\d{0,5}\\])?${SPACE}(?:${LINE}(?=:))?(?:=>|:=|[=:])${SPACE}(?:[&!][\\w!/.-]{1,40}[ \\t]{1,3})?(?:[|>][+-]?)?(?:\\(?${LINE}(?:-[ \\t]{1,3})?)?(?:[bfru](?=${QUOTE}))?(?:\\\\{0,7}""(?=\\\\{0,7}"))?`,
  // A call: setPassword("…")
  `\\(\\s{0,16}(?=${QUOTE})`,
  "\\s{1,3}is\\s{1,3}",
];
const BEHIND_FLAG = "\\s{1,3}(?<=--[\\w.-]{2,80}\\s{1,3})";

/** The part before the value in `NAME=value`, `"name": "value"`, `--name value`: in text, in JSON, in JSON within a text. */
const namedBy = (letters: string, between: readonly string[], flags: string) =>
  new RegExp(
    `(?:(?<![${letters}\\w-]|[${letters}\\w]\\.)|(?<=(?:^|[\\r\\n]|\\\\n)-))(?<flag>--)?(?<name>[${letters}_][${letters}\\w.-]{0,80})(?![${letters}\\w-])(?<between>${between.join("|")})`,
    flags,
  );
const [ASCII, LETTERS] = ["A-Za-z", "\\p{L}\\p{M}"];
const NAMED = namedBy(LETTERS, [...BETWEEN, BEHIND_FLAG], "gu");
/** For names in ASCII, and for texts without flags, because it is faster. */
const NAMED_ASCII = namedBy(ASCII, [...BETWEEN, BEHIND_FLAG], "g");
const NAMED_PLAIN = namedBy(ASCII, BETWEEN, "g");

/** Adds the values behind names. The value of another name is searched too: `note: password=…`, `"text": "login with password=…"`. */
export function assignedIn(text: string, kindOf: KindOf, found: Span[], isWhole: boolean): Span[] {
  /** Up to here no value without quotes looks like a secret, so that a long one is not read again for each name in it. */
  let plainTo = 0;
  /** Up to here the values of an object of secrets are found. */
  let insideTo = 0;
  const beside = new Beside(text, kindOf, found);
  const names = /[^\0-\x7F]/.test(text) ? NAMED : text.includes("--") ? NAMED_ASCII : NAMED_PLAIN;
  names.lastIndex = 0;
  for (let named = names.exec(text); named; named = names.exec(text)) {
    const { name: dotted = "", between = "", flag } = named.groups!;
    const name = dotted.slice(dotted.lastIndexOf(".") + 1);
    const from = names.lastIndex;
    const kind = kindIn(name, between, kindOf, flag !== undefined);
    const besideTo = beside.read(name, between, named.index, from);
    if (besideTo !== undefined) names.lastIndex = besideTo;
    // What seemed to be its type may be the name of the value: export NAME="…"
    if (kind === "plain" && besideTo === undefined && /^[: \t]\s*&?[A-Za-z]/.test(between))
      names.lastIndex = from - between.length;
    if (kind === "plain" || besideTo !== undefined) continue;
    const isProse = /\sis\s/.test(between);
    if (isProse && !isWhole) continue;
    if (between.startsWith("(") && !/^(?:set|with|use)/i.test(name)) continue;
    const isCertain = kind === "secret";
    if (from < plainTo && !(isCertain && (flag !== undefined || (between === "=" && !isCode(text, from))))) continue;
    // In JSON that cannot be read, an object of secrets is known by its name as well.
    if (isCertain && from >= insideTo && /["']/.test(between) && !SCHEMA.test(text.slice(from, from + 60))) {
      const { values, to } = valuesIn(text, from);
      found.push(...values.filter((one) => mayBeSecret(text.slice(one.from, one.to))));
      insideTo = to;
    }
    const value = lineOf(text, named.index, between, from) ?? valueAt(text, from);
    if (value === undefined || (value.quoted && isClosing(text, named.index, between, from))) continue;
    // A call. In a shell, a variable with such a value is none.
    if (!value.quoted && !/^[A-Z\d_]+$/.test(name) && /^[\w.]*\(/.test(text.slice(from, from + LONG))) continue;
    const isHeader = /["'`]/.test(text[named.index - 1] ?? "") && /^:\s/.test(between) && name.includes("-");
    const form = { between, quoted: value.quoted || isHeader, isFlag: flag !== undefined };
    if (isAssigned(isProse && !value.quoted && isCertain ? "suspect" : kind, text.slice(value.from, value.to), form)) {
      if (value.quoted && isNameOf(name, text.slice(value.from, value.to))) continue;
      found.push(value, ...changedTo(text, value));
      names.lastIndex = Math.max(value.to, from);
    } else if (!value.quoted && !looksSecret(text.slice(value.from, value.to))) plainTo = Math.max(plainTo, value.to);
  }
  return found;
}

/** `apiKey: "X-API-Key"`. */
const isNameOf = (name: string, value: string) => bare(value).replace(/^x/, "") === bare(name);

/** What a value in quotes becomes: `~ password = "old" -> "new"`. */
function changedTo(text: string, { to, quoted }: Value): readonly Span[] {
  const arrow = quoted ? /^\\{0,7}["']\s{0,3}->\s{0,3}(?=\\{0,7}["'])/.exec(text.slice(to, to + 30)) : null;
  const value = arrow && quotedAt(text, to + arrow[0].length);
  return value ? [value] : [];
}

/** Whether the quote at a position closes one that opens before the name, as in "password:". */
function isClosing(text: string, at: number, between: string, from: number): boolean {
  const [opening] = /\\{0,7}["'`]$/.exec(text.slice(Math.max(0, at - 8), at)) ?? [];
  return opening !== undefined && text.startsWith(opening, from) && !between.includes(opening.at(-1)!);
}

/** A schema of a secret, which is none. */
const SCHEMA = /^\{\s{0,40}\\{0,7}"(?:type|\$ref|\$?id|description|title|allOf|anyOf|oneOf)\\{0,7}"\s{0,3}:/;

function kindIn(name: string, between: string, kindOf: KindOf, isFlag: boolean): NameKind {
  const isKnown =
    (bare(name) === "pwd" && name !== "PWD" && between === "=") || (isFlag && /(?:^|[-_])token$/i.test(name));
  return isKnown ? "secret" : kindOf(name);
}

const BEGINNING = /(?:^|[\r\n])[-+ ]?[ \t]{0,8}(?:(?:export|set)[ \t]+|\$env:)?$/;

/** A value without quotes that has a line or a place of its own: it ends at a space, or in a connection string at `;`. */
function lineOf(text: string, at: number, between: string, from: number): Value | undefined {
  if (between !== "=" || !FIRST.test(text.slice(from, from + 2))) return undefined;
  const isOwn = BEGINNING.test(text.slice(Math.max(0, at - 30), at));
  const isField = text[at - 1] === ";";
  if (!isOwn && !isField && !/\s/.test(text[at - 1] ?? "")) return undefined;
  const form = isOwn ? WORD : isField ? FIELD : LOOSE;
  form.lastIndex = from;
  const [value = ""] = form.exec(text) ?? [];
  return value.length < 3 || (form === LOOSE && /&[\w.-]+=/.test(value))
    ? undefined
    : { from, to: from + value.replace(/[.,;:!?)}\]]+$/, "").length, quoted: false };
}

/** A word's beginning: no quote, no literal with a letter before it, as in `f"…"`, and no other operator. */
const FIRST = /^(?![bfruN]?["'`])[^\s=>]/;
/** Quotes and backslashes within a word are a part of it; those of JSON within a text are none. */
const WORD = /(?:(?!\\{1,7}[nrtu"'`]|["'`](?!\w))\S)+/y;
const FIELD = /[^\s"'`\\;]+/y;
/** In a text that is no query, `&` is a part of a word. */
const LOOSE = /[^\s"'`,;<>(){}[\]\\]+/y;

/** How a value stands behind its name. */
interface Form {
  readonly between: string;
  readonly quoted: boolean;
  readonly isFlag: boolean;
}

/** `password: string` is code, and so is `password = read()`: a value without quotes must look like one, or stand right behind `=`. */
function isAssigned(kind: NameKind, value: string, { between, quoted, isFlag }: Form): boolean {
  if (!mayBeSecret(value) || (quoted && /^[^\p{L}\p{N}]{0,3}$/u.test(value))) return false;
  const isCertain = quoted || isFlag || (between === "=" && !isCode(value, 0)) || isNumber(between, value);
  return isSecret(isCertain ? kind : "doubtful", value);
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
    if (isLabel(name)) this.#readLabel(name, at, value);
    if (!isValue(name)) return undefined;
    const isCertain = value.quoted || (between === "=" && !isCode(this.#text, from));
    this.#value = { name, value, isCertain };
    if (!this.#label || !this.#isNear(this.#label.at, at)) return undefined;
    return this.#add(this.#label.kind, this.#value) ? value.to : undefined;
  }

  #readLabel(name: string, at: number, label: Value): void {
    if (label.to - label.from > LONG) return;
    const kind = kindOfLabel(this.#text.slice(label.from, label.to), this.#kindOf, name);
    if (kind === "plain" && name === "type") return;
    this.#label = { kind, at: label.to };
    const before = this.#value;
    this.#value = undefined;
    if (before && this.#isNear(before.value.to, at) && this.#add(kind, before)) this.#label = undefined;
  }

  #add(label: NameKind, { name, value, isCertain }: Held): boolean {
    const kind = besideLabel(label, name);
    const secret = this.#text.slice(value.from, value.to);
    if (kind === "plain" || !mayBeSecret(secret)) return false;
    if (!isSecret(isCertain ? kind : "doubtful", secret)) return false;
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
  /(?<=(?<pairs>[[\]]\s{0,40},?\s{0,40}\[\s{0,40}\\{0,7})?["'])[#.]?(?<name>-{0,2}[A-Za-z_][\w.-]{0,80})\\{0,7}["']\s{0,3},\s{0,16}(?=\\{0,7}["'])/g;

/** Adds the texts that the text before them in a list names. */
export function listedIn(text: string, kindOf: KindOf, found: Span[]): Span[] {
  if (!text.includes(",")) return found;
  for (const { index, 0: match, groups } of text.matchAll(LISTED)) {
    const { name = "", pairs } = groups!;
    const value = quotedAt(text, index + match.length);
    if (!value || value.to === value.from) continue;
    const listed = text.slice(value.from, value.to);
    const isCall = /\(\s*\\{0,7}["']$/.test(text.slice(Math.max(0, index - 20), index));
    const kind =
      pairs !== undefined || (isCall && !/^[a-z]+$/i.test(listed))
        ? kindOfLabel(name, kindOf)
        : behind(name, listed, kindOf);
    if (isSecret(kind, listed)) found.push(value);
  }
  return found;
}
