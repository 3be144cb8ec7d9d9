import type { Cleaner } from "./headers.js";
import { isSecret, type NameKind } from "./names.js";

/** The most objects and lists in one another. Deeper ones are left out. */
const MAX_DEPTH = 500;

/** What the nearest name that says something says of a value. */
interface Around {
  readonly kind: NameKind;
  readonly isMarked: boolean;
}
const NOTHING: Around = { kind: "plain", isMarked: false };

/** The object or list that a text is as JSON; undefined for any other text. */
export function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    // A byte order mark is not white space of JSON.
    return JSON.parse(text.trimStart());
  } catch {
    return undefined;
  }
}

/** A text of JSON without its secrets. One without any keeps its own spaces and numbers. */
export function cleanJson(text: string, value: object, redactor: Cleaner): string {
  const clean = walk(value, NOTHING, 0, redactor);
  if (clean === value) return text;
  return (text.startsWith("\uFEFF") ? "\uFEFF" : "") + JSON.stringify(clean);
}

function walk(value: unknown, around: Around, depth: number, redactor: Cleaner): unknown {
  if (typeof value === "string") {
    if (isSecret(around.kind, value)) return redactor.replace(value);
    const inner = depth < MAX_DEPTH ? jsonIn(value) : undefined;
    return inner === undefined ? redactor.scrub(value) : cleanJson(value, inner, redactor);
  }
  if (typeof value === "number") return around.isMarked ? redactor.replace(String(value)) : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "__too_deep__";
  if (Array.isArray(value)) {
    const items = value.map((item) => walk(item, around, depth + 1, redactor));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  const entries = Object.entries(value);
  const clean = entries.map(([key, inner]) => {
    // A suspect name says nothing of all that is in its object.
    const outer = around.kind === "secret" ? around : NOTHING;
    const kind = outer.kind === "secret" ? "secret" : redactor.kindOf(key);
    const own = kind === "plain" ? NOTHING : { kind, isMarked: outer.isMarked || redactor.isMarked(key) };
    return [redactor.scrub(key), walk(inner, own, depth + 1, redactor)] as const;
  });
  const isSame = clean.every(([key, inner], at) => key === entries[at]![0] && inner === entries[at]![1]);
  return isSame ? value : Object.fromEntries(clean);
}
