import { looksSecret } from "./assigned.js";
import { isVague, type KindOf, type NameKind } from "./names.js";
import { behind, besideLabel, inPair, labelIn } from "./pairs.js";

/** Replaces what a walk finds in JSON. */
export interface Cleaner {
  readonly kindOf: KindOf;
  /** The value of a name that says that it is a secret. */
  secret(value: string, name: string): string;
  /** The name of a property. */
  name(name: string): string;
  /** Any other text. */
  text(text: string): string;
}

/** The most objects and lists in one another. What is deeper is left out. */
const MOST = 500;

/** What the names around a value say of it, and the nearest of them. */
interface Told {
  readonly kind: NameKind;
  readonly name: string;
}

const NOTHING: Told = { kind: "plain", name: "" };

/** JSON without its secrets: the same value if it has none. */
export function cleanJson(value: unknown, cleaner: Cleaner): unknown {
  return walk(value, NOTHING, 0, cleaner);
}

function walk(value: unknown, told: Told, depth: number, cleaner: Cleaner): unknown {
  if (typeof value === "string") {
    if (value === "") return value;
    const isSecret = told.kind === "secret" || (told.kind === "suspect" && looksSecret(value));
    return isSecret ? cleaner.secret(value, told.name) : cleaner.text(value);
  }
  if (typeof value === "number") return told.kind === "secret" ? cleaner.secret(String(value), told.name) : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth > MOST) return "__too_deep__";
  return Array.isArray(value)
    ? walkList(value, told, depth, cleaner)
    : walkObject(value as Readonly<Record<string, unknown>>, told, depth, cleaner);
}

function walkList(list: readonly unknown[], told: Told, depth: number, cleaner: Cleaner): unknown {
  const { kindOf } = cleaner;
  const arePairs = list.every((item) => Array.isArray(item) && item.length === 2 && typeof item[0] === "string");
  const items = list.map((item, at) => {
    if (told.kind === "secret") return walk(item, told, depth + 1, cleaner);
    if (arePairs) {
      const [name, value] = item as [string, unknown];
      const clean = walk(value, { kind: inPair(item as unknown[], kindOf), name }, depth + 2, cleaner);
      const label = cleaner.text(name);
      return clean === value && label === name ? item : [label, clean];
    }
    if (typeof item !== "string") return walk(item, NOTHING, depth + 1, cleaner);
    const before = list[at - 1];
    const kind = told.kind === "plain" ? behind(before, item, kindOf) : told.kind;
    return walk(item, { kind, name: told.name || String(before) }, depth + 1, cleaner);
  });
  return items.some((item, at) => item !== list[at]) ? items : list;
}

function walkObject(object: Readonly<Record<string, unknown>>, told: Told, depth: number, cleaner: Cleaner): unknown {
  const keys = Object.keys(object);
  const beside = labelIn(object, cleaner.kindOf);
  /** The entries so far, once one of them has changed. */
  let entries: [string, unknown][] | undefined;
  for (const [at, key] of keys.entries()) {
    const inner = object[key];
    const clean = walk(inner, toldOf(key, told, beside, cleaner.kindOf), depth + 1, cleaner);
    const name = cleaner.name(key);
    if (clean !== inner || name !== key) entries ??= keys.slice(0, at).map((one) => [one, object[one]]);
    entries?.push([name, clean]);
  }
  return entries ? Object.fromEntries(entries) : object;
}

/** What is known of a property's value: by the names around its object, by its own, by a label beside it. */
function toldOf(key: string, around: Told, beside: Told, kindOf: KindOf): Told {
  if (around.kind === "secret") return around;
  const kind = kindOf(key);
  if (kind !== "plain") return { kind, name: key };
  // A suspect name says nothing of all that is in its object.
  if (around.kind === "suspect" && isVague(key)) return around;
  const labelled = besideLabel(beside.kind, key);
  return labelled === "plain" ? NOTHING : { kind: labelled, name: beside.name };
}
