import { isObject } from "@parlance/wire";

/** What a value of a line must be, and the sentence for one that is not. */
interface Shape {
  readonly words: string;
  readonly test: (value: unknown) => boolean;
  readonly optional?: true;
}

const shape = (words: string, test: (value: unknown) => boolean): Shape => ({ words, test });
const text = shape("a text", (value) => typeof value === "string");
const count = (least: number, most: number) =>
  shape(
    `a whole number from ${least} to ${most}`,
    (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  );
const optional = (one: Shape): Shape => ({ ...one, optional: true });
const one = (...values: readonly string[]) =>
  shape(values.map((value) => `"${value}"`).join(" or "), (value) => values.includes(value as string));

/** A token (RFC 9110, section 5.6.2). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** What may be sent in the value of a header. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const isText = (pattern: RegExp, value: unknown) => typeof value === "string" && pattern.test(value);
const isPair = (pair: unknown) =>
  Array.isArray(pair) && pair.length === 2 && isText(TOKEN, pair[0]) && isText(VALUE, pair[1]);
const headers = shape(
  "a list of pairs, the name and value of a header that can be sent",
  (value) => Array.isArray(value) && value.every(isPair),
);
/** The value of a field of an event stream is one line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const FIELD = /^[^\r\n\u0000]*$/;
const field = shape("a text without a line end or NUL, as an event can carry it", (value) => isText(FIELD, value));
const method = shape("a method of HTTP", (value) => isText(TOKEN, value));
const base64 = shape("base64", (value) => typeof value === "string" && value.length % 4 === 0 && BASE64.test(value));
const status = shape(
  "101, or a number from 200 to 999",
  (value) => value === 101 || (Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 999),
);
const flag = shape("true or false", (value) => typeof value === "boolean");
const either = one("client", "server");
const size = count(0, Number.MAX_SAFE_INTEGER);
const content = { text: optional(text), base64: optional(base64), size: optional(size), encoding: optional(text) };

/** The properties of each kind of line beside its time, and its side where only one sends it. */
const KINDS: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  request: { from: one("client"), method, target: text, headers, socket: optional(flag) },
  response: { from: one("server"), status, headers },
  body: { from: either, ...content },
  event: { from: one("server"), event: optional(field), id: optional(field), raw: optional(text), ...content },
  comment: { from: one("server"), ...content },
  frame: { from: either, ...content },
  ping: { from: either },
  pong: { from: either },
  end: { from: either },
  close: { from: either, code: count(0, 65_535), reason: text },
  error: { from: either, text },
};

/** Some 3,000 years: with it a time is still a date. */
const LATEST = 1e14;
const FIRST = {
  t: shape("a number of milliseconds from 0 on", (value) => typeof value === "number" && value >= 0 && value <= LATEST),
  c: count(1, Number.MAX_SAFE_INTEGER),
  kind: one(...Object.keys(KINDS)),
};

const texts = (value: unknown) => isObject(value) && Object.values(value).every((each) => typeof each === "string");
const contract = shape(
  "a name, and a digest at most",
  (value) => isObject(value) && typeof value.name === "string" && ["string", "undefined"].includes(typeof value.digest),
);
const HEADER: Readonly<Record<string, Shape>> = {
  contract: optional(contract),
  versions: shape("texts by name", texts),
  began: shape("a date and time", (value) => typeof value === "string" && Math.abs(Date.parse(value)) < 4e14),
  redacted: shape(
    "a list of texts",
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  ),
  metadataOnly: optional(flag),
};

/** The first flaw of a line between the first and the last; undefined if it has none. */
export function flawOfEntry(line: Readonly<Record<string, unknown>>): string | undefined {
  const found = flawIn(FIRST, line);
  if (found !== undefined) return found;
  const properties = KINDS[line.kind as string]!;
  return flawIn(properties, line) ?? ("size" in properties ? flawOfContent(line) : undefined);
}

/** The first flaw of a recording's first line. */
export const flawOfHeader = (line: Readonly<Record<string, unknown>>) => flawIn(HEADER, line);

function flawIn(shapes: Readonly<Record<string, Shape>>, line: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, { words, test, optional }] of Object.entries(shapes)) {
    const value = line[name];
    if (value === undefined ? !optional : !test(value))
      return value === undefined ? `\`${name}\` is missing` : `\`${name}\` is ${shown(value)}, not ${words}`;
  }
  return undefined;
}

/** Of `text`, `base64` and `size` there is one. */
function flawOfContent(line: Readonly<Record<string, unknown>>): string | undefined {
  const given = ["text", "base64", "size"].filter((name) => line[name] !== undefined);
  if (given.length === 1) return undefined;
  return given.length === 0 ? "`text` is missing" : `there are both \`${given[0]}\` and \`${given[1]}\``;
}

/** A value as it is named in a sentence: a long or deep one by its type. */
function shown(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  return Array.isArray(value) ? "a list" : "an object";
}
