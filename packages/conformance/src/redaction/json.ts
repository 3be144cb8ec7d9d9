import { SHORTEST } from "./known.js";
import { isSecret } from "./looks.js";
import { isVague, type KindOf, type NameKind } from "./names.js";
import { behind, besideLabel, inPair, isColumns, isRows, labelIn } from "./pairs.js";

/** Replaces what a walk finds in JSON. */
export interface Cleaner {
  readonly kindOf: KindOf;
  /** The value of a name that says that it is a secret. */
  secret(value: string, name: string): string;
  /** The name of a property. */
  name(name: string): string;
  /** Whether the value of a property is an id or the like by its name. */
  isId(name: string): boolean;
  /** Any other text. */
  text(text: string, isId: boolean): string;
}

/** The most objects and lists in one another. What is deeper is left out. */
const MOST = 500;

/** What the names around a value say of it, and the nearest of them. */
interface Told {
  readonly kind: NameKind;
  readonly name: string;
}

const NOTHING: Told = { kind: "plain", name: "" };
/** What the name of an id says. */
const ID: Told = { kind: "plain", name: "" };

/** JSON without its secrets: the same value if it has none. */
export function cleanJson(value: unknown, cleaner: Cleaner): unknown {
  return walk(value, NOTHING, 0, cleaner);
}

function walk(value: unknown, told: Told, depth: number, cleaner: Cleaner): unknown {
  if (typeof value === "string") {
    if (value === "") return value;
    return isSecret(told.kind, value) ? cleaner.secret(value, told.name) : cleaner.text(value, told === ID);
  }
  if (typeof value === "number") return walkNumber(value, told, cleaner);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MOST) return "__too_deep__";
  return Array.isArray(value)
    ? walkList(value, told, depth, cleaner)
    : walkObject(value as Readonly<Record<string, unknown>>, told, depth, cleaner);
}

/** A number may be a secret that was seen as a text. */
function walkNumber(value: number, told: Told, cleaner: Cleaner): unknown {
  const text = String(value);
  if (told.kind === "secret") return cleaner.secret(text, told.name);
  if (text.length < SHORTEST) return value;
  const clean = cleaner.text(text, true);
  return clean === text ? value : clean;
}

function walkList(list: readonly unknown[], told: Told, depth: number, cleaner: Cleaner): unknown {
  const { kindOf } = cleaner;
  const arePairs = list.every((item) => Array.isArray(item) && item.length === 2 && typeof item[0] === "string");
  const isClient = typeof list[0] === "string" && /^(?:mysql|mariadb)/.test(list[0]);
  const items = list.map((item, at) => {
    if (told.kind === "secret") return walk(item, told, depth + 1, cleaner);
    if (arePairs) {
      const [name, value] = item as [string, unknown];
      const clean = walk(value, { kind: inPair(item as unknown[], kindOf), name }, depth + 2, cleaner);
      const label = cleaner.text(name, true);
      return clean === value && label === name ? item : [label, clean];
    }
    if (typeof item !== "string") return walk(item, NOTHING, depth + 1, cleaner);
    const before = list[at - 1];
    if (told === ID) return walk(item, ID, depth + 1, cleaner);
    if (isClient && /^-p./.test(item)) return `-p${cleaner.secret(item.slice(2), "password")}`;
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
  const isSchema = told.kind !== "plain" && describes(object);
  const names = columnsOf(object, keys, cleaner.kindOf);
  for (const [at, key] of keys.entries()) {
    const inner = object[key];
    const isTable = names !== undefined && isRows(key) && Array.isArray(inner);
    const clean = isTable
      ? walkRows(inner, names, depth + 1, cleaner)
      : walk(inner, toldOf(key, told, beside, isSchema, cleaner), depth + 1, cleaner);
    const name = cleaner.name(key);
    if (clean !== inner || name !== key) entries ??= keys.slice(0, at).map((one) => [one, object[one]]);
    entries?.push([name, clean]);
  }
  return entries ? Object.fromEntries(entries) : object;
}

/** What JSON Schema says of a value whose name is that of a secret. */
const SCHEMA = new Set(
  "type $ref description title format pattern minLength maxLength enum items required nullable writeOnly readOnly".split(
    " ",
  ),
);
const TYPES = /^(?:string|number|integer|boolean|object|array|null)$/;

/** Whether an object is a schema, and no value. */
function describes({ type, $ref }: Readonly<Record<string, unknown>>): boolean {
  const types = Array.isArray(type) ? type : [type];
  return typeof $ref === "string" || types.every((one) => typeof one === "string" && TYPES.test(one));
}

/** What the names of columns beside rows say, as in `{ "columns": ["user", "password"], "rows": [["me", "…"]] }`. */
function columnsOf(
  object: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  kindOf: KindOf,
): readonly Told[] | undefined {
  const columns = keys.find((key) => isColumns(key) && Array.isArray(object[key]));
  if (columns === undefined || !keys.some(isRows)) return undefined;
  const told = (object[columns] as readonly unknown[]).map((one) => {
    const name = typeof one === "string" ? one : (one as { readonly name?: unknown } | null)?.name;
    return typeof name === "string" ? { kind: kindOf(name), name } : NOTHING;
  });
  return told.some(({ kind }) => kind !== "plain") ? told : undefined;
}

/** Rows below columns, or the values of one row. */
function walkRows(rows: readonly unknown[], columns: readonly Told[], depth: number, cleaner: Cleaner): unknown {
  const clean = rows.map((row, at) =>
    Array.isArray(row)
      ? walkRows(row, columns, depth + 1, cleaner)
      : walk(row, typeof row === "object" ? NOTHING : (columns[at] ?? NOTHING), depth + 1, cleaner),
  );
  return clean.some((row, at) => row !== rows[at]) ? clean : rows;
}

/** What is known of a property's value: by the names around its object, by its own, by a label beside it. */
function toldOf(key: string, around: Told, beside: Told, isSchema: boolean, { kindOf, isId }: Cleaner): Told {
  if (around.kind === "secret" && !(isSchema && SCHEMA.has(key))) return around;
  const kind = kindOf(key);
  if (kind !== "plain") return { kind, name: key };
  // A suspect name says nothing of all that is in its object.
  if (around.kind !== "plain" && isVague(key)) return around;
  const labelled = besideLabel(beside.kind, key);
  if (labelled !== "plain") return { kind: labelled, name: beside.name };
  return isId(key) ? ID : NOTHING;
}
