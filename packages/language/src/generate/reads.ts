import type { Contract, Json, Reading, Shape, Side } from "@parlance/wire";
import { parsePointer } from "@parlance/wire/internal/pointer";
import { property } from "./literal.js";

/**
 * Writes the readers of one side's messages as the text of an object: a function for the messages, one for each operation that has rules, and
 * one for the names of messages that differ by shape only. `more` are members that are written already. Rules become statements, so that
 * nothing is interpreted for each message.
 */
export function reads(contract: Contract, side: Side, names: readonly string[], more: readonly string[] = []): string {
  const rules = (contract.reading ?? []).filter(({ of }) => of === side);
  const readerOf = (operation: string | undefined) => reader(rules.filter((rule) => rule.operation === operation));
  const operations = new Set(rules.flatMap(({ operation }) => operation ?? []));
  const members = [
    rules.some(({ operation }) => operation === undefined) && `message: ${readerOf(undefined)}`,
    contract.tag.in === "shape" && `name: ${namer(contract, names)}`,
    operations.size > 0 &&
      `operations: { ${[...operations].map((name) => `${property(name)}: ${readerOf(name)}`).join(", ")} }`,
  ];
  return `{ ${[...members.filter(Boolean), ...more].join(", ")} }`;
}

/** A function from a body to its documented form. It may change the body. */
function reader(rules: readonly Reading[]): string {
  return `(at) => { if (typeof at !== "object" || at === null) return at; ${rules.map(rule).join("\n")} return at; }`;
}

function rule({ where = {}, operation, ...rule }: Reading): string {
  const guards = Object.entries(where);
  // No two object literals are equal.
  if (guards.some(([, value]) => !isScalar(value))) return "";
  const changes = [
    ...each(rule.rename, (name, at, key) => `reading.rename(${at}, ${key}, ${text(name)});`),
    ...(rule.remove ?? []).map((pointer) => along(pointer, (at, key) => `delete ${at}[${key}];`)),
    ...each(rule.values, (pairs, at, key) => values(pairs, `${at}[${key}]`)),
    ...(rule.upper ?? []).map((pointer) =>
      along(pointer, (at, key) => ifString(`${at}[${key}]`, (place) => `${place}.toUpperCase()`)),
    ),
    ...each(rule.wrap, (how, at, key) => ifString(`${at}[${key}]`, (place) => wrapped(how, key, place))),
    ...each(rule.default, (value, at, key) => `if (reading.lacks(${at}, ${key})) ${at}[${key}] = ${text(value)};`),
  ];
  if (rule.unwrap !== undefined) changes.push(unwrapped(rule.unwrap, operation !== undefined));
  const body = changes.join("\n");
  const tests = guards.map(([pointer, value]) => `${inner(pointer)} === ${text(value)}`);
  return tests.length === 0 ? body : `if (${tests.join(" && ")}) { ${body} }`;
}

/** Replaces a written value by the documented one, or removes its property. */
function values(pairs: readonly (readonly [Json, Json?])[], place: string): string {
  return pairs
    .filter(([written]) => isScalar(written))
    .map(([written, ...documented]) => {
      const change = documented.length === 0 ? `delete ${place};` : `${place} = ${text(documented[0]!)};`;
      return `if (${place} === ${text(written)}) ${change}`;
    })
    .join(" else ");
}

const ifString = (place: string, change: (place: string) => string): string =>
  `if (typeof ${place} === "string") ${place} = ${change(place)};`;

function wrapped(how: NonNullable<Reading["wrap"]>[string], key: string, place: string): string {
  if (how === "array") return `[${place}]`;
  const position = !how.position ? "" : `${text(how.position)}: Number(${key}) + 1, `;
  return `{ ${position}${text(how.property)}: ${place} }`;
}

/** Only an answer may be a list. */
function unwrapped(pointer: string, lists: boolean): string {
  const place = inner(pointer);
  const test = `typeof ${place} === "object" && ${place} !== null`;
  return `if (${lists ? test : `${test} && !Array.isArray(${place})`}) at = ${place};`;
}

function each<T>(
  changes: Readonly<Record<string, T>> = {},
  act: (change: T, at: string, key: string) => string,
): string[] {
  return Object.entries(changes).map(([pointer, change]) => along(pointer, (at, key) => act(change, at, key)));
}

/** Statements that act at every place that a pointer leads to. `act` gets the expressions of the parent and the key. */
function along(pointer: string, act: (at: string, key: string) => string): string {
  const step = ([part, ...rest]: readonly string[]): string => {
    const below = (key: string) =>
      rest.length === 0 ? act("at", key) : `reading.inside(at, ${key}, (at) => { ${step(rest)} });`;
    return part === "*" ? `for (const key of reading.keys(at)) { ${below("key")} }` : below(text(part!));
  };
  return step(parsePointer(pointer));
}

/** The expression of a pointer's value, which is undefined if there is none. */
function inner(pointer: string): string {
  const [first, ...rest] = parsePointer(pointer).map(text);
  return rest.length === 0 ? `at[${first}]` : `reading.deep(at, ${[first, ...rest].join(", ")})`;
}

/** A function that names a message: the first, in contract order, whose shape fits. */
function namer({ messages }: Contract, names: readonly string[]): string {
  const ordered = Object.keys(messages).filter((name) => names.includes(name));
  return `(body) => ${ordered.map((name) => `${fits(messages[name]!.shape ?? {})} ? ${text(name)} : `).join("")}undefined`;
}

function fits({ const: constants = {}, required = [], forbidden = [] }: Shape): string {
  const tests = [
    ...Object.entries(constants).map(([key, value]) =>
      isScalar(value) ? `body[${text(key)}] === ${text(value)}` : "false",
    ),
    ...required.map((key) => `${own(key)} !== undefined`),
    ...forbidden.map((key) => `${own(key)} === undefined`),
  ];
  return tests.join(" && ") || "true";
}

/** The expression of a property, which is undefined only if it is absent: JSON has no undefined. `Object.hasOwn` would cost five times as much. */
const own = (key: string): string =>
  key in Object.prototype ? `reading.deep(body, ${text(key)})` : `body[${text(key)}]`;
const text = (value: Json): string => JSON.stringify(value);
const isScalar = (value: Json): boolean => typeof value !== "object" || value === null;
