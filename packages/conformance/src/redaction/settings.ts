// Values in files of configuration: a line that is only a name and one word, and the fields of a printed structure.

import { isCode, isElse, mayBeSecret } from "./looks.js";
import { bare, type KindOf, type NameKind } from "./names.js";
import { isLabel, isValue, kindOfLabel } from "./pairs.js";
import type { Span } from "./span.js";

const SPACE = "[ \\t]{0,40}";
/** No literal, with or without a letter before it, as in `f"…"`. */
const WORD = "(?![bfruN]?[\"'`]|[=>])(?:(?!\\\\{1,7}[nrtu\"'`]|[\"'`](?![\\w$]))\\S){3,200}";

/** What stands before a line where a tool shows it: a file's name and number, as grep and cat write them, and the mark of a comment. */
const SHOWN =
  "(?:(?:[\\w./-]{1,100}[:-])?\\d{1,7}(?:[:|\u2192\\t-]|[ \\t]{1,4}\\|)[ \\t]{0,40})?(?:(?:#|//|;|--|\\*|/\\*|<!--|REM)[ \\t]{0,8})?";

/** A line. In YAML the value may stand in the next one. */
const LINE = new RegExp(
  `(?<=^|[\\r\\n]|\\\\n)${SPACE}${SHOWN}(?:[-+>][ \\t]{1,8}){0,2}(?:export[ \\t]+)?["']?(?<name>[A-Za-z_][\\w.-]{0,80})["']?` +
    `${SPACE}(?<between>[?+:]?=|:(?!:)(?:${SPACE}[|>]?[+-]?(?:\\r?\\n|\\\\{1,7}n)${SPACE}(?:-[ \\t]{1,3})?)?)${SPACE}` +
    `(?<value>${WORD})${SPACE}(?=$|[\\r\\n]|\\\\{1,7}[nr]|\\\\{0,7}["'\`]|[ \\t](?:#|\\*/|-->))`,
  "g",
);

/** Another item of a list in YAML. */
const ITEM = new RegExp(`(?:\\r?\\n)${SPACE}-[ \\t]{1,3}(?<value>${WORD})(?=${SPACE}(?:$|[\\r\\n]))`, "y");

/** `{Host:h Password:…}`, as Go prints it. */
const FIELD = /(?<=[{[ ])([A-Za-z]\w{0,60}):([^\s{}[\]"'`:,;]{4,200})(?=[}\]]|\s[A-Za-z]\w{0,60}:\S)/g;

/** `{ user: me, password: … }`, as YAML and programs write it. */
const FLOW = /(?<=[{,]\s{0,5})["']?([A-Za-z_][\w.-]{0,60})["']?:[ \t]{0,3}([^\s{}[\]"'`,;]{4,200})(?=\s{0,3}[,}])/g;

/** Adds the values that have a line or a field of their own. */
export function settingsIn(text: string, kindOf: KindOf, found: Span[]): void {
  if (!/[:=]/.test(text)) return;
  /** Up to here the items of lists are read. */
  let itemsTo = 0;
  let label: { readonly kind: NameKind; readonly to: number } | undefined;
  for (const { index, 0: match, groups } of text.matchAll(LINE)) {
    const { name = "", between = "", value = "" } = groups!;
    const to = index + match.trimEnd().length;
    const isBeside = label?.kind === "secret" && isValue(name) && index - label.to < 4;
    if (isBeside ? mayBeSecret(value) && !isCode(value) : isSetting(name, between, value, kindOf))
      found.push({ from: to - value.length, to });
    if (between.includes("- ") && to >= itemsTo) itemsTo = itemsBehind(text, to, name, kindOf, found);
    label = isLabel(name) ? { kind: kindOfLabel(value, kindOf), to: index + match.length } : undefined;
  }
  for (const form of [FIELD, FLOW])
    for (const { index, 0: match, 1: name = "", 2: value = "" } of text.matchAll(form))
      if (isSetting(name, ":", value, kindOf))
        found.push({ from: index + match.length - value.length, to: index + match.length });
}

function itemsBehind(text: string, at: number, name: string, kindOf: KindOf, found: Span[]): number {
  let to = at;
  ITEM.lastIndex = at;
  for (let item = ITEM.exec(text); item; item = ITEM.exec(text)) {
    const { value = "" } = item.groups!;
    to = ITEM.lastIndex;
    if (isSetting(name, ":", value, kindOf)) found.push({ from: to - value.length, to });
  }
  return to;
}

const VARIABLE = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/;

/** Whether a value without quotes is a secret, and neither a word, nor code, nor the name of another thing. */
function isSetting(name: string, between: string, value: string, kindOf: KindOf): boolean {
  const kind = kindOf(name.slice(name.lastIndexOf(".") + 1));
  if (kind === "plain" || !mayBeSecret(value) || isCode(value) || isElse(value)) return false;
  if (/^[a-z]+$/i.test(value)) return kind === "secret" && VARIABLE.test(name) && between.startsWith(":");
  if (kind !== "secret" && (!/\d/.test(value) || !/[a-z]/i.test(value) || value.length < 6)) return false;
  if (kind === "doubtful" && bare(name) !== "pass") return false;
  return /[a-z\d]/i.test(value) && (/\d/.test(value) || !NAMING.test(value)) && value.length > 3;
}

/** The name of a secret in another place, and no secret. */
const NAMING = /pass|secret|token|key|cred|auth/i;
