// Names and values that stand side by side: { "name": "password", "value": "…" }, ["--password", "…"].

import { bare, bounded, isVague, type KindOf, type NameKind } from "./names.js";

const LABELS = new Set(
  (
    "name key k id label title header headername field fieldname variable var varname env param parameter property option " +
    "setting attribute attr keyname type flag path pointer parameterkey parametername"
  ).split(" "),
);
const VALUES = new Set(
  "value val v values default defaultvalue current stringvalue newvalue oldvalue arg argument parametervalue".split(
    " ",
  ),
);
/** Beside a name such as `get_password` they may hold plain text. */
const TEXTS = new Set("content contents data text string result".split(" "));

const COLUMNS = new Set("columns cols fields headers header names keys".split(" "));
const ROWS = new Set("rows values data records row".split(" "));

/** What the value of a property may be to the one beside it. */
type Role = "label" | "value" | "text" | "none";

const roles = bounded<Role>();

function roleOf(name: string): Role {
  return roles(name, () => {
    const plain = bare(name);
    if (LABELS.has(plain)) return "label";
    if (VALUES.has(plain) || isVague(name)) return "value";
    return TEXTS.has(plain) ? "text" : "none";
  });
}

/** Whether the value of a property with this name names what stands beside it. */
export const isLabel = (name: string) => roleOf(name) === "label";

/** Whether a property with this name may have its name beside it. */
export const isValue = (name: string) => roleOf(name) === "value" || roleOf(name) === "text";

/** Whether a property with this name may have the names of columns, or their rows. */
export const isColumns = (name: string) => COLUMNS.has(name);
export const isRows = (name: string) => ROWS.has(name);

/** What a label of a kind says of the value of a property beside it. */
export function besideLabel(label: NameKind, name: string): NameKind {
  if (label === "plain" || roleOf(name) === "value") return label;
  return roleOf(name) === "text" ? "suspect" : "plain";
}

/** Whether a secret may stand beside a label with this text. Headers are known by a part of their name too. `of` is the property. */
export function kindOfLabel(label: string, kindOf: KindOf, of = ""): NameKind {
  const kind = kindOf(label);
  // The type of a message says little of what is in it.
  if (of === "type") return kind === "secret" ? kind : "plain";
  if (kind !== "plain" || !/^\w+(-\w+)+$/.test(label)) return kind;
  return /token|secret|api-?key|session|jwt|csrf|xsrf/i.test(label) ? "suspect" : "plain";
}

/** What the label of an object says, as in `{ "name": "password", "value": "…" }`, and its text. */
export function labelIn(
  object: Readonly<Record<string, unknown>>,
  kindOf: KindOf,
): { readonly kind: NameKind; readonly name: string } {
  let found: { kind: NameKind; name: string } = { kind: "plain", name: "" };
  for (const key in object) {
    const label = object[key];
    if (typeof label !== "string" || label.length > 200 || !isLabel(key)) continue;
    const kind = kindOfLabel(label, kindOf, key);
    if (kind === "secret") return { kind, name: label };
    if (kind !== "plain") found = { kind, name: label };
  }
  return found;
}

/** What the text before it in a list says of a text: a flag names its value, and the name of a header or variable may. */
export function behind(before: unknown, text: string, kindOf: KindOf): NameKind {
  if (typeof before !== "string" || before.length > 100) return "plain";
  const flag = /^--?(?=[A-Za-z])/.exec(before)?.[0];
  if (flag === undefined) return kindOfLabel(before, kindOf) === "plain" ? "plain" : "suspect";
  if (text.startsWith("-")) return "plain";
  return /^(-u|--user)$/.test(before) && text.includes(":") ? "secret" : kindOf(before.slice(flag.length));
}

/** What the first of a pair says of the second, in a list of pairs such as that of headers. */
export function inPair(items: readonly unknown[], kindOf: KindOf): NameKind {
  return items.length === 2 && typeof items[0] === "string" && items[0].length <= 200
    ? kindOfLabel(items[0], kindOf)
    : "plain";
}
