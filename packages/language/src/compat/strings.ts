import type { SchemaObject } from "@parlance/wire";
import { CharSet, DFA, JS, NFA, type NoParent, Transformers, transform } from "refa";
import type { Literal } from "./literal.js";
import type { Accept, Outcome } from "./search.js";
import type { Space } from "./space.js";

/** The last code point. */
const LAST = 0x10ffff;
/** A limit of a length above this is not compared together with patterns: its automaton would be too large. */
const MAX_COUNTED = 300;
/** Words of an automaton that are tried. */
const TRIED = 30;

/** Strings that are tried first. Each format's are ones of its own, and ones that others refuse. */
const samples = [
  ...["a", "", "0", "A", "-", " ", "b", "aa", "ab", "a b", "10", "é", "a@b.co", "example.com", "https://example.com/a"],
  ...["2026-01-31", "10:20:30Z", "2026-01-31T10:20:30Z", "P1D", "127.0.0.1", "::1", "/a", "/a/b", "1/a", "{a}"],
  ...["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "urn:a:b", "10:20:30", "2026-01-31T10:20:30", "YQ=="],
];

/** The form of formats that are checked by code. */
const forms: Readonly<Record<string, string>> = {
  date: "^\\d\\d\\d\\d-[0-1]\\d-[0-3]\\d$",
  time: "^\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?([Zz]|[+-]\\d\\d(:?\\d\\d)?)$",
  "date-time": "^\\d\\d\\d\\d-[0-1]\\d-[0-3]\\d[Tt\\s]\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?([Zz]|[+-]\\d\\d(:?\\d\\d)?)$",
};

/** A string that fits keywords about strings. */
export function stringOf(space: Space, atoms: readonly Literal[], good: Accept): Outcome {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  for (const { schema, positive } of atoms) {
    const { minLength, maxLength } = schema as { minLength?: number; maxLength?: number };
    const floor = positive ? minLength : maxLength === undefined ? undefined : maxLength + 1;
    const ceiling = positive ? maxLength : minLength === undefined ? undefined : minLength - 1;
    low = Math.max(low, floor ?? low);
    high = Math.min(high, ceiling ?? high);
  }
  if (low > high) return "none";
  const value = samples.find(good) ?? ["a".repeat(Math.min(low, 1e6)), "a1".repeat(Math.min(low, 5e5))].find(good);
  if (value !== undefined) return { value };
  return byAutomaton(space, atoms, low, high, good);
}

function byAutomaton(space: Space, atoms: readonly Literal[], low: number, high: number, good: Accept): Outcome {
  let languages: DFA[];
  try {
    languages = [...languagesOf(space, atoms, low, high)];
    if (languages.length === 0) return "unclear";
    const all = languages.reduce((sum, one) => smaller(DFA.fromIntersection(sum, one)));
    if (all.isEmpty) return "none";
    let tried = 0;
    for (const word of all.wordSets()) {
      const text = String.fromCodePoint(...word.map(readable));
      if (good(text)) return { value: text };
      if (++tried === TRIED) break;
    }
  } catch {
    // An automaton would have too many nodes.
  }
  return "unclear";
}

function smaller(automaton: DFA): DFA {
  automaton.minimize();
  return automaton;
}

function* languagesOf(space: Space, atoms: readonly Literal[], low: number, high: number): Generator<DFA> {
  const counted = high <= MAX_COUNTED ? String(high) : "";
  const least = Math.min(low, MAX_COUNTED);
  if (least > 0 || counted) yield language(`^[^]{${least},${counted}}$`, "u")!;
  for (const { schema, positive } of atoms) {
    const { pattern, format, const: one, enum: several = [one] } = schema as SchemaObject & { enum?: unknown[] };
    let found: DFA | undefined;
    if (typeof pattern === "string") found = language(pattern, "u");
    else if (typeof format === "string") {
      const checked = space.expression(format);
      if (checked) found = language(checked.source, checked.flags);
      else if (positive && format in forms) found = language(forms[format]!, "u");
    } else if (!positive && several.some((value) => typeof value === "string"))
      found = DFA.fromWords(
        several.flatMap((value) => (typeof value === "string" ? [[...value].map((char) => char.codePointAt(0)!)] : [])),
        { maxCharacter: LAST },
      );
    if (found && positive) yield found;
    if (found && !positive) {
      const others = found.copy();
      others.complement();
      yield others;
    }
  }
}

const compiled = new Map<string, DFA | undefined>();

/** The strings that an expression finds something in; undefined where it has assertions inside, or refers back. */
function language(source: string, flags: string): DFA | undefined {
  const key = `${flags}/${source}`;
  if (!compiled.has(key)) compiled.set(key, automaton(source, flags));
  return compiled.get(key);
}

function automaton(source: string, flags: string): DFA | undefined {
  try {
    const wanted = flags.includes("u") ? flags : `${flags}u`;
    const parser = JS.Parser.fromLiteral({ source, flags: wanted });
    const { expression } = parser.parse({ backreferences: "throw", assertions: "parse" });
    for (const { elements } of expression.alternatives) {
      if (isEdge(elements[0], "behind")) elements.shift();
      else elements.unshift(anyText());
      if (isEdge(elements.at(-1), "ahead")) elements.pop();
      else elements.push(anyText());
    }
    const plain = transform(Transformers.applyAssertions(), expression);
    const found = DFA.fromFA(NFA.fromRegex(plain, { maxCharacter: LAST }, { assertions: "throw" }));
    return smaller(found);
  } catch {
    return undefined;
  }
}

type Element = ReturnType<JS.Parser["parse"]>["expression"]["alternatives"][number]["elements"][number];

/** Whether an element is the assertion `^` or `$`: nothing is before or after. */
function isEdge(element: Element | undefined, kind: "ahead" | "behind"): boolean {
  if (element?.type !== "Assertion" || element.kind !== kind || !element.negate) return false;
  const [only, ...others] = element.alternatives.flatMap(({ elements }) => elements);
  return others.length === 0 && only?.type === "CharacterClass" && only.characters.isAll;
}

const anyText = (): Element =>
  ({
    type: "Quantifier",
    min: 0,
    max: Number.POSITIVE_INFINITY,
    lazy: false,
    alternatives: [{ type: "Concatenation", elements: [{ type: "CharacterClass", characters: CharSet.all(LAST) }] }],
  }) satisfies NoParent<unknown> as unknown as Element;

/** A character of a set, one that people read if there is one. */
function readable(set: CharSet): number {
  for (const char of [97, 48, 65, 45, 46, 47, 32]) if (set.has(char)) return char;
  const ranges = set.ranges
    .map(({ min, max }) => ({ min: Math.max(min, 33), max }))
    .filter(({ min, max }) => min <= max);
  return (ranges.find(({ min }) => min < 0xd800 || min > 0xdfff) ?? set.ranges[0]!).min;
}
