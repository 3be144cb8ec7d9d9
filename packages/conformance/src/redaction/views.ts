import type { Known } from "./known.js";

/** How characters are written as something else: `\\u00e4`, `&#228;` and `&amp;`, `%C3`. Each has the number of a character, or its name. */
const FORMS = [
  { hint: "\\u", written: /\\{1,7}u(?<hex>[\da-f]{4})/gi },
  { hint: "&", written: /&#(?<decimal>\d{1,7});|&#x(?<hex>[\da-f]{1,6});|&(?<name>amp|lt|gt|quot|apos);/gi },
  { hint: "%", written: /%(?<hex>[\da-f]{2})/gi },
] as const;
/** The beginning of one at the end of a text. */
const BEGUN = /(?:\\{1,7}(?:u[\da-f]{0,3})?|&(?:#?\w{0,7})?|%[\da-f]?)$/i;
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
/** How often one form may be read within another, as in `%2522`. */
const DEEPEST = 1;

/** A text as it reads, and where each of its characters stands in the one that was written. */
interface View {
  readonly text: string;
  readonly from: readonly number[];
  readonly to: readonly number[];
}

type Found = ReturnType<Known["find"]>;

/** The places of known texts, also where their characters are written as something else. */
export function findIn(known: Known, text: string): Found {
  const found = known.find(text);
  if (known.size === 0) return found;
  for (const { text: read, from, to } of viewsOf(text))
    for (const one of known.find(read)) found.push({ ...one, from: from[one.from]!, to: to[one.to - 1]! });
  return found;
}

/** A text without them. */
export function replaceIn(known: Known, text: string): string {
  let replaced = "";
  let at = 0;
  for (const { from, to, instead } of findIn(known, text).sort((one, other) => one.from - other.from)) {
    if (from < at) continue;
    replaced += text.slice(at, from) + instead;
    at = to;
  }
  return at === 0 ? text : replaced + text.slice(at);
}

/** As `unfinished` of `Known`, also of characters that are written as something else. */
export function unfinishedIn(known: Known, text: string): number {
  return known.size === 0 ? text.length : Math.min(begunIn(known, text), BEGUN.exec(text)?.index ?? text.length);
}

/** The position from which the end of a text begins a known text, and is not only what may stand for its first character, as `&name` is. */
export function begunIn(known: Known, text: string): number {
  if (known.size === 0) return text.length;
  const whole = text.slice(0, BEGUN.exec(text)?.index);
  let open = known.unfinished(text);
  const plain = known.unfinished(whole);
  if (plain < whole.length) open = Math.min(open, plain);
  for (const { text: read, from } of viewsOf(whole)) {
    const at = known.unfinished(read);
    if (at < read.length) open = Math.min(open, from[at]!);
  }
  return open;
}

/** What a text reads as, in each form that it has, and in one within another. */
function* viewsOf(text: string, written?: View, depth = 0): Iterable<View> {
  for (const { hint, written: form } of FORMS) {
    if (!text.includes(hint)) continue;
    const view = viewOf(text, form, written);
    if (!view) continue;
    yield view;
    if (depth < DEEPEST) yield* viewsOf(view.text, view, depth + 1);
  }
}

/** A text without what stands for its characters in a form; undefined where nothing does. */
function viewOf(text: string, form: RegExp, written?: View): View | undefined {
  const from: number[] = [];
  const to: number[] = [];
  let read = "";
  let at = 0;
  const add = (characters: string, begin: number, end: number, isOne: boolean) => {
    for (let i = 0; i < characters.length; i++) {
      const first = isOne ? begin : begin + i;
      const last = isOne ? end - 1 : begin + i;
      from.push(written ? written.from[first]! : first);
      to.push(written ? written.to[last]! : last + 1);
    }
    read += characters;
  };
  for (const match of text.matchAll(form)) {
    add(text.slice(at, match.index), at, match.index, false);
    at = match.index + match[0].length;
    add(characterOf(match), match.index, at, true);
  }
  if (at === 0) return undefined;
  add(text.slice(at), at, text.length, false);
  return { text: read, from, to };
}

function characterOf({ 0: all, groups = {} }: RegExpExecArray): string {
  const { hex, decimal, name } = groups;
  if (name !== undefined) return NAMED[name.toLowerCase()]!;
  const point = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
  return point > 0x10ffff ? all : String.fromCodePoint(point);
}
