// Secrets in a line that names one, whatever stands between: a call, an expression, a list, a command, the question of a program.

import { isCode, isElse, mayBeSecret } from "./looks.js";
import type { KindOf } from "./names.js";
import { LATIN, OTHERS } from "./names.js";
import type { Span } from "./span.js";

const QUOTE = "\\\\{0,7}[\"'`]";

/** Names of secrets, as a word or at a word's end. */
const NAMES = [
  ...["password", "passwd", "pass[ -]?phrase", "passcode", "secret", "credential", "(?<![a-z])(?:pwd|psk)"],
  "(?<=[-_.]|require|master|admin|user|root|db)pass",
  `(?<=["'\`])pass(?=${QUOTE})`,
  `(?:pass|pw)(?=\\s{0,3}[:=]\\s{0,3}${QUOTE})`,
  "(?:api|access|private|auth|signing|encryption|master|license|account)[-_ ]?key",
  "(?:auth|access|bearer|refresh|session|api|client)[-_ ]?token",
  LATIN,
  OTHERS,
];
/** Calls and options with a password among their values. */
const CALLS = [
  ...["basic_?auth", "get_?connection", "\\bPDO\\(", "mysqli", "DBI->connect", "USERPWD", "\\.(?:begin|login)\\("],
  ...["pgp_sym", "masterauth"],
];
const NAME = new RegExp(`(?:${[...NAMES, ...CALLS].join("|")})(?!ar|io|iv|less|ed|ing)`, "gi");
/** Is faster than the first, which most texts do not match. */
const HINT = new RegExp(
  `pass|pwd|pw|psk|secret|credential|key|token|auth|connect|PDO|mysqli|begin|login|pgp_|${LATIN}|${OTHERS}`,
  "i",
);

const CLOSING: Readonly<Record<string, string>> = { "「": "」", "『": "』", "«": "»", "“": "”", "‘": "’", "„": "“" };

/** The most characters behind a name in which its value is searched for. */
const MOST = 200;
const END = /[\r\n]|\\{1,7}[nr](?![a-z])/;
const WORD = /[^\s"'`,;(){}[\]<>|\u2018-\u201f\u3001-\u3011\uff08\uff09\uff0c\uff1a\uff1b«»]+/g;
/** What is asked for, or shown, at the end of a line. */
const ANSWER =
  /^(?:\s+(?:for|of|to|is)\s(?:'[^'\n]{1,100}'|[^:\n]{1,100})|(?:\s\p{L}{1,20}){1,3}|\s?\([^)\n]{1,60}\))?\s?[:：]\*{0,2}\s{0,3}([^\s"'`\\]{4,})\s*$/u;

/** Adds the literals behind a name that look chosen, and the words that no program and no sentence has. In joined texts the end of a line may be that of a message. */
export function linesIn(text: string, kindOf: KindOf, found: Span[], isWhole: boolean): void {
  if (!HINT.test(text)) return;
  let read = 0;
  for (const { index, 0: name } of text.matchAll(NAME)) {
    const from = Math.max(read, index + name.length);
    const rest = text.slice(from, index + name.length + MOST);
    const line = rest.slice(0, END.exec(rest)?.index);
    for (const span of [...literalsIn(line, kindOf), ...wordsIn(line), ...(isWhole ? answerIn(line) : [])])
      found.push({ from: from + span.from, to: from + span.to });
    read = Math.max(read, from + line.length);
  }
}

function* literalsIn(line: string, kindOf: KindOf): Iterable<Span> {
  // A quote may close what another opens, so each is tried.
  for (const { index, 0: quote } of line.matchAll(/["'`「『«“‘„]/g)) {
    const to = line.indexOf(CLOSING[quote] ?? quote, index + 1);
    if (to < 0) continue;
    const inner = line.slice(index + 1, to).replace(/\\+$/, "");
    const value = inner.trim();
    const from = index + 1 + inner.indexOf(value);
    if (isChosen(value) && kindOf(value) === "plain") yield { from, to: from + value.length };
  }
}

function* answerIn(line: string): Iterable<Span> {
  const answer = ANSWER.exec(line)?.[1];
  if (answer !== undefined && isChosen(answer, 4)) {
    const to = line.trimEnd().length;
    yield { from: to - answer.length, to };
  }
}

function* wordsIn(line: string): Iterable<Span> {
  for (const { index, 0: word } of line.matchAll(WORD)) {
    const value = word.replace(/^(?:[\w-]*[=:]+)+/, "").replace(/[.:!?\\]+$/, "");
    const from = index + word.lastIndexOf(value);
    if (isChosen(value) && isNoName(value)) yield { from, to: from + value.length };
  }
}

/** Letters with digits or symbols among them, as in no word. */
function isChosen(value: string, least = 6): boolean {
  if (value.length < least || !/\p{L}/u.test(value) || !/\d|[!@#$%^&*?+~]/.test(value) || /\s/.test(value))
    return false;
  return !RULE.test(value) && mayBeSecret(value) && !isCode(value) && !isElse(value);
}

/** A rule of a form, a format, an address, a package, a pattern, what a URL escapes. */
const RULE =
  /%[\da-f]{2}|^@[\w.-]+\/|^[\w-]+(?:\.[\w-]+)*:\d{2,5}$|#\/|redacted_|\b(?:required|min|max|len|size|regex)\b[:|=]|^%|%[sd]|^[\w.+-]+@[\w-]+\.[a-z]+$|:\/\/|^[\^/]|\\[dws]/i;

/** Neither a name of a program nor a version, a host or a unit: with a symbol, or long with digits in several places. */
function isNoName(value: string): boolean {
  if (value.length < 8 || !/\d/.test(value) || /[=/\\]/.test(value)) return false;
  if (/[!@#$%^&*?+~]/.test(value)) return true;
  const isVersion = /\d\.\d|^v?\d+(?:[._-]\w+)+$|(?:[.-]\w+){4}/.test(value);
  return value.length >= 12 && (value.match(/\d+/g)?.length ?? 0) >= 3 && !isVersion;
}
