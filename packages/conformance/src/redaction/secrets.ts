import { bare, kindOfName } from "./names.js";

/** A part of a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Variables of an environment: any name such as GITHUB_TOKEN. */
const VARIABLE = /^(?!.*PUBLIC)[A-Z][A-Z0-9_]*(TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|AUTH|DSN)$/;

/** Secrets that are known by their form. The first group that matches is the secret, or all of it. */
const FORMS = [
  /\b(?:Bearer|Basic)\s+([\w.~+/-]{8,}=*)/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*/g,
  /\b(?:sk|pk|rk)[-_][\w-]{16,}/g,
  /\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|gl(?:pat|dt|rt|ft)-[\w-]{16,}|xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,})/g,
  /\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|hf_\w{20,}|npm_\w{30,}|pypi-[\w-]{30,}|dop_v1_\w{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|shp(?:at|ca|pa|ss)_\w{20,})/g,
  // Up to the end of the text, if that comes first. A quote ends it, because the text may be JSON.
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[^"]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?=")|$)/g,
  // The password of a URL, whatever its characters. A port is none.
  /:\/\/[^\s/:@"'<>]{0,256}:((?!\d+\/)[^\s"'<>]{2,512})@(?=[\w[])/g,
  /(?<=:\/\/)[\w-]{16,}(?=@)/g,
  /\b(?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?(?:(?:Bearer|Basic|Token|Digest|ApiKey)\s+)?([^\s"',;\\]{4,})/gi,
  /\b(?:set-)?cookie\\?["']?\s*:\s*\\?["']?([\w.-]+=[^\r\n"'\\]+)/gi,
  /(?:^|\s)(?:-u|--user)\s+[^\s:]+:([^\s"']{2,})/g,
];
/** A substring of each of them, or the separator of a name and its value. */
const HINT =
  /[=:]|B(?:earer|asic)|eyJ|[sprk]k[-_]|gh[opsur]_|github_pat_|gl[prfd]|xox|xapp|AKIA|ASIA|AIza|ya29|GOCSPX|hf_|npm_|pypi-|dop_v1_|SG\.|shp[a-z]|--/;
/** The part before the value in `NAME=value`, `"name": "value"`, `--name value`: in text, in JSON, in JSON within a text. */
const NAMED =
  /(?<![\w.-])(?<flag>--)?(?<name>[A-Za-z_][\w.-]{1,80})(?<between>\\{0,7}["']?(?:[ \t]|\\{1,7}t){0,3}(?:=>|:=|[=:])(?:[ \t]|\\{1,7}t){0,3}(?:(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n)[ \t]{0,16})?|\s{1,3}(?<=--[\w.-]{2,80}\s{1,3}))/g;
const VALUE =
  /\\{0,7}"(?<double>[^"\\\r\n]{3,})|\\{0,7}'(?<single>[^'\\\r\n]{3,})|(?<bare>[^\s"'`,;&<>(){}[\]\\]{3,})/y;

export function isSecretName(name: string, value: unknown): boolean {
  const kind = kindOfName(name);
  return kind === "secret" || (kind === "suspect" && typeof value === "string" && looksSecret(value));
}

/** Whether a header's name says that its value is a secret. */
export function isSecretHeader(name: string, value: string): boolean {
  return isSecretName(name, value) || /token|secret|api-?key|password|credential|session|jwt|csrf|xsrf/i.test(name);
}

/** Long, without spaces, with a digit: not a word. */
export function looksSecret(value: string): boolean {
  return value.length >= 12 && /\d/.test(value) && !/\s/.test(value);
}

/** The secrets of a text that are known by their form, or by the name before them. */
export function secretsIn(text: string): Span[] {
  if (text.length < 5 || !HINT.test(text)) return [];
  const found: Span[] = [];
  for (const form of FORMS)
    for (const match of matches(text, form)) {
      const secret = match.slice(1).find((group) => group !== undefined) ?? match[0];
      // "Basic authentication" is prose.
      if (/^B(earer|asic)/.test(match[0]) && !looksSecret(secret)) continue;
      const from =
        match.index + match[0].indexOf(secret, match[1] === undefined ? 0 : match[0].length - secret.length - 1);
      found.push({ from, to: from + secret.length });
    }
  return assignedIn(text, found);
}

/** Adds the values behind names. The value of another name is searched too: `note: password=…`, `"text": "login with password=…"`. */
function assignedIn(text: string, found: Span[]): Span[] {
  /** Up to here no value without quotes looks like a secret, so that a long one is not read again for each name in it. */
  let plainTo = 0;
  NAMED.lastIndex = 0;
  for (let named = NAMED.exec(text); named; named = NAMED.exec(text)) {
    const { name: names = "", between = "", flag } = named.groups!;
    const name = names.split(".").at(-1)!;
    const from = NAMED.lastIndex;
    const isSecret = isNameOfSecret(name, between);
    if (!isSecret && kindOfName(name) !== "suspect") continue;
    if (from < plainTo && !(isSecret && (flag !== undefined || (between === "=" && !isCode(text, from))))) continue;
    VALUE.lastIndex = from;
    const { double, single, bare: plain } = VALUE.exec(text)?.groups ?? {};
    const value = double ?? single ?? plain;
    if (value === undefined) continue;
    const to = VALUE.lastIndex;
    if (isAssigned(isSecret, between, value, plain === undefined, flag !== undefined)) {
      found.push({ from: to - value.length, to });
      NAMED.lastIndex = to;
    } else if (plain !== undefined && !looksSecret(plain)) plainTo = Math.max(plainTo, to);
  }
  return found;
}

/** As `matchAll`, which makes a copy of the expression for each text. */
function matches(text: string, form: RegExp): readonly RegExpExecArray[] {
  form.lastIndex = 0;
  let match = form.exec(text);
  if (!match) return NONE;
  const found: RegExpExecArray[] = [];
  for (; match; match = form.exec(text)) found.push(match);
  return found;
}

const NONE: readonly RegExpExecArray[] = [];

function isNameOfSecret(name: string, between: string): boolean {
  return kindOfName(name) === "secret" || VARIABLE.test(name) || (bare(name) === "pwd" && between === "=");
}

/** `password: string` is code, and so is `password = read()`: a value without quotes must look like one, or stand right behind `=`. */
function isAssigned(isSecret: boolean, between: string, value: string, quoted: boolean, isFlag: boolean): boolean {
  if (/^[$%<]|^__redacted_\d+__/.test(value)) return false;
  if (isSecret && (quoted || isFlag || (between === "=" && !isCode(value, 0)))) return true;
  return looksSecret(value);
}

const CODE = /[a-z]+\./y;

/** Whether a property is read at a position, as in `password=process.env`. */
function isCode(text: string, at: number): boolean {
  CODE.lastIndex = at;
  return CODE.test(text);
}

/** What stands before a secret, as a word or at a word's end: a name's separator, a scheme, a flag. */
const BEFORE = /(?:[=:]\\*["'`]?|\b(?:bearer|basic|token|digest|apikey)|(?:^|\s)-u|--[\w.-]{2,80})\s*$/i;
/** A name and its separator, before a value in quotes. */
const QUOTED = /[\w.-]{2,80}\\{0,7}["']?\s{0,3}(?:=>|:=|[=:])$/;
/** A separator that stands alone behind its name, as in `NAME = value`. */
const SEPARATOR = /^(?:=>|:=|[=:])["'`]?(?:\s|$)/;

/**
 * The position from which a text may hold the beginning of a secret that goes on in the next one: its last word, and the words before it
 * that name it.
 */
export function unfinished(text: string): number {
  const pem = text.lastIndexOf("-----BEGIN");
  if (pem >= 0 && !text.includes("-----END", pem)) return pem;
  // Behind the last word and its spaces a separator may follow.
  let from = wordBefore(text, text.trimEnd().length);
  for (let words = 0; words < 3 && from > 0; words++) {
    if (!BEFORE.test(text.slice(Math.max(0, from - 100), from)) && !SEPARATOR.test(text.slice(from))) break;
    from = wordBefore(text, text.slice(0, from).trimEnd().length);
  }
  return Math.min(from, quotedFrom(text));
}

/** Where a name stands whose value is in quotes that are not closed: it may have many words. The text's length if there is none. */
function quotedFrom(text: string): number {
  const quote = Math.max(text.lastIndexOf('"'), text.lastIndexOf("'"));
  if (quote < 0 || /[\r\n]/.test(text.slice(quote))) return text.length;
  const from = Math.max(0, quote - 130);
  const before = text.slice(from, quote).replace(/\\+$/, "").trimEnd();
  const named = /[=:>]$/.test(before) ? QUOTED.exec(before) : null;
  return named ? from + named.index : text.length;
}

/** Where the word begins that ends at a position. */
function wordBefore(text: string, end: number): number {
  let at = end;
  while (at > 0 && !/\s/.test(text[at - 1]!)) at--;
  return at;
}

/** The places from left to right; those that overlap are one. */
export function merged(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.from - b.from);
  const all: Span[] = [];
  for (const span of sorted) {
    const before = all.at(-1);
    if (before && span.from <= before.to) all[all.length - 1] = { from: before.from, to: Math.max(before.to, span.to) };
    else all.push(span);
  }
  return all;
}
