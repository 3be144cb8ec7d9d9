import type { ContractDocument, Json, Schema } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, it } from "vitest";
import { accepts, type Verdict } from "../../src/compat/accepts.js";
import { spaceOf } from "../../src/compat/space.js";
import { type Random, random } from "../generate/draw.js";
import { CHANGES, type Loose, MOVES, type Pair, pairOf } from "./pairs.js";
import { drawValue } from "./values.js";

// Values decide whether a change breaks: the verdict on a pair of schemas is compared with what ajv says of many values drawn from both.

const seed = Number(process.env.SEED ?? 2026);
const long = process.env.PARLANCE_LONG !== undefined;
const rounds = Number(process.env.ROUNDS ?? (long ? 4 : 1));
const drawn = Number(process.env.VALUES ?? (long ? 20_000 : 300));

const formats = { ticket: { description: "A ticket.", pattern: "^T-[0-9]+$" }, phase: { description: "A phase." } };

const documentOf = (schema: Loose) =>
  ({
    contract: { name: "drawn" },
    source: { formats },
    schemas: { Drawn: { $id: "/drawn/messages/drawn.json", ...schema } },
    files: { Drawn: "messages/drawn.json" },
    transcripts: {},
  }) as unknown as ContractDocument;

const harmless = new Set(["reorder values", "change prose", "wrap in allOf", "wrap in oneOf alone"]);

interface Judge {
  /** Whether a reader accepts a value. */
  readonly reads: (value: Json) => boolean;
  /** Whether a writer may send it to a reader. */
  readonly writes: (value: Json, reader: Loose) => boolean;
}

function judgeOf(root: Loose): Judge {
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  addFormats.default(ajv as never);
  ajv.addFormat("ticket", /^T-[0-9]+$/u);
  ajv.addFormat("phase", true);
  const { $defs, definitions } = root;
  const checks = new Map<Loose, (value: Json) => boolean>();
  const fits = (schema: Loose, value: Json): boolean => {
    if (typeof schema === "boolean") return schema;
    if (!checks.has(schema)) checks.set(schema, ajv.compile({ ...schema, $defs, definitions }) as never);
    return checks.get(schema)!(value);
  };

  /** The schemas that say something of a value itself: those that it consists of, and the alternatives that it takes. */
  function* active(schema: Loose, value: Json): Generator<Loose> {
    if (typeof schema !== "object") return;
    yield schema;
    const taken = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter((one) => fits(one, value));
    const target = targetOf(schema, root);
    const given = Object.entries(schema.dependentSchemas ?? {}).filter(([name]) =>
      Object.hasOwn(value as object, name),
    );
    const condition = "if" in schema ? [schema.if, fits(schema.if, value) ? schema.then : schema.else] : [];
    const all = [...(schema.allOf ?? []), ...taken, target, ...given.map(([, one]) => one), ...condition];
    for (const one of all) yield* active(one, value);
  }

  /** A property that only the reader names is not sent by a writer whose schema leaves open by silence what else there is. */
  function writes(schemas: readonly Loose[], value: Json, readers: readonly Loose[], other: Loose): boolean {
    if (typeof value !== "object" || value === null) return true;
    const all = schemas.flatMap((schema) => [...active(schema, value)]);
    const theirs = readers.flatMap((schema) => [...parts(schema, other)]);
    const itemOf =
      (index: number) =>
      ({ prefixItems = [], items, contains }: Loose) => [prefixItems[index] ?? items, contains];
    if (Array.isArray(value))
      return value.every((one, index) => writes(all.flatMap(itemOf(index)), one, theirs.flatMap(itemOf(index)), other));
    const open = all.some((one) => "additionalProperties" in one || "unevaluatedProperties" in one);
    const closed = !open && all.some(({ properties }) => properties);
    return Object.entries(value).every(([name, one]) => {
      const [mine, news] = [all, theirs].map((list) => list.flatMap((schema) => about(schema, name)));
      const named = mine!.length > 0 || all.some((schema) => names(schema).includes(name));
      const isNews = theirs.some((schema) => names(schema).includes(name));
      return (named || !closed || !isNews) && writes(mine!, one, news!, other);
    });
  }
  return {
    reads: (value) => fits(root, value),
    writes: (value, other) => fits(root, value) && writes([root], value, [other], other),
  };
}

const targetOf = ({ $ref }: Loose, root: Loose): Loose =>
  $ref
    ?.split("/")
    .slice(1)
    .reduce((at: Loose, step: string) => at[step], root);

const names = ({ properties = {}, required = [], dependentRequired = {}, dependentSchemas = {} }: Loose): string[] => [
  ...Object.keys({ ...properties, ...dependentRequired, ...dependentSchemas }),
  ...required,
  ...(Object.values(dependentRequired).flat() as string[]),
];

function about({ properties = {}, patternProperties = {}, additionalProperties }: Loose, name: string): Loose[] {
  const found = Object.keys(patternProperties).filter((pattern) => new RegExp(pattern).test(name));
  const own = [
    ...found.map((pattern) => patternProperties[pattern]),
    ...(Object.hasOwn(properties, name) ? [properties[name]] : []),
  ];
  return own.length > 0 ? own : [additionalProperties].filter((other) => other !== undefined);
}

/** All schemas about a value itself. */
function* parts(schema: Loose, root: Loose, depth = 0): Generator<Loose> {
  if (typeof schema !== "object" || depth > 9) return;
  yield schema;
  const target = targetOf(schema, root);
  const lists = ["allOf", "anyOf", "oneOf"].flatMap((word) => schema[word] ?? []);
  const beside = [
    target,
    schema.if,
    schema.then,
    schema.else,
    schema.not,
    ...Object.values(schema.dependentSchemas ?? {}),
  ];
  for (const one of [...lists, ...beside]) yield* parts(one, root, depth + 1);
}

interface Count {
  pairs: number;
  breaking: number;
  unclear: number;
  readonly missed: string[];
  readonly alarms: string[];
}

/** Judges one direction of a pair: what the writer of one schema may send, and the other accepts. */
function judge(random: Random, verdict: Verdict, { writer, reader, text }: Loose, count: Count): void {
  const [from, to] = [judgeOf(writer), judgeOf(reader)];
  count.pairs++;
  let broken: Json | undefined;
  for (let index = 0; index < drawn && broken === undefined; index++) {
    const root = index % 3 === 0 ? reader : writer;
    const value = drawValue(random, root, root);
    if (from.writes(value, reader) && !to.reads(value)) broken = value;
  }
  if (verdict.is === "unclear") count.unclear++;
  if (verdict.is === "no" || broken !== undefined) count.breaking++;
  if (verdict.is === "yes" && broken !== undefined) count.missed.push(`${text}: ${JSON.stringify(broken)}`);
  if (verdict.is === "no" && !(from.writes(verdict.example, reader) && !to.reads(verdict.example)))
    count.alarms.push(`${text}: ${JSON.stringify(verdict.example)}`);
  if (process.env.SHOW === "no" && verdict.is === "no") console.log("no", text, JSON.stringify(verdict));
  if (process.env.SHOW && verdict.is === "unclear") console.log("unclear", text, JSON.stringify(broken));
}

it("agrees with what values show", { timeout: 3_600_000 }, () => {
  const source = random(seed);
  const count: Count = { pairs: 0, breaking: 0, unclear: 0, missed: [], alarms: [] };
  for (let round = 0; round < rounds; round++)
    for (const change of [...Object.keys(CHANGES), ...Object.keys(MOVES)]) {
      const pair = pairOf(source, change);
      const space = spaceOf({ old: documentOf(pair.old), now: documentOf(pair.now) });
      const [old, now] = ["old", "now"].map((age) => space.resolve(`${age}:/drawn/messages/drawn.json`) as Schema);
      const text = `seed ${seed}, ${change}: ${JSON.stringify(pair satisfies Pair)}`;
      judge(source, accepts(space, now!, old!), { writer: pair.old, reader: pair.now, text: `forth, ${text}` }, count);
      const back = accepts(space, old!, now!);
      judge(source, back, { writer: pair.now, reader: pair.old, text: `back, ${text}` }, count);
      if (change in MOVES || harmless.has(change)) expect(back, text).toEqual({ is: "yes" });
    }
  const { pairs, breaking, unclear, missed, alarms } = count;
  console.log(
    `seed ${seed}: of ${pairs} verdicts ${breaking} break, ${unclear} are unclear, ${missed.length} are missed, ${alarms.length} are false`,
  );
  expect(missed).toEqual([]);
  expect(alarms.length, alarms.join("\n")).toBeLessThanOrEqual(0.03 * pairs);
  expect(unclear).toBeLessThanOrEqual(0.1 * pairs);
});
