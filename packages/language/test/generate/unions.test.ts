import { generate } from "@parlance/language/generate";
import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { describe as describeFlaws } from "../../../wire/src/errors.js";
import { flaws } from "../../../wire/src/message-decoder.js";
import { checksIn, expectKnown } from "./checks-in.js";
import { pick, type Random, random } from "./draw.js";
import { contract, object } from "./own-contract.js";

const seed = Number(process.env.SEED ?? 2026);
const rounds = process.env.PARLANCE_LONG === undefined ? 1 : 60;
const perRound = 250;

const names = ["kind", "op", "type", "constructor", "a"];
const constants: readonly Json[] = ["a", "b", "c", "d", 1, 2, true, false, null];

/** A branch that has constants for some names, or none. */
function branch(random: Random, depth: number): Schema {
  const values = () => {
    const count = random(4) === 0 ? 2 : 1;
    const listed = Array.from({ length: count }, () => pick(random, constants));
    return count === 1 ? { const: listed[0] } : { enum: [...new Set(listed)] };
  };
  const tag = (): Schema =>
    pick<Schema>(random, [
      values(),
      values(),
      { $ref: "#/$defs/constant" },
      { allOf: [values()], description: "d." },
      { type: "string" },
    ]);
  const named = names.filter(() => random(3) === 0);
  const properties: Record<string, Schema> = Object.fromEntries(named.map((name) => [name, tag()]));
  if (depth < 2 && random(3) === 0) properties.inner = union(random, depth + 1);
  if (random(2) === 0) properties.text = { type: "string" };
  const required = Object.keys(properties).filter(() => random(4) > 0);
  const own: SchemaObject = { ...(random(6) > 0 && { type: "object" }), properties, required };
  return pick<() => Schema>(random, [
    () => own,
    () => own,
    () => own,
    () => ({ allOf: [{ type: "object" }, own] }),
    () => ({ ...own, additionalProperties: false }),
    () => ({ $ref: "#/$defs/part" }),
    () => ({ type: pick(random, ["null", "string", "number"]) }),
    () => ({ type: ["object", "null"], properties, required }),
    () => (depth < 2 ? union(random, depth + 1) : own),
    () => random(2) === 0,
    () => ({ const: pick(random, constants) }),
  ])();
}

function union(random: Random, depth = 0): SchemaObject {
  const branches = Array.from({ length: 2 + random(4) }, () => branch(random, depth));
  return {
    [pick(random, ["anyOf", "oneOf"])]: branches,
    ...(random(4) === 0 && { type: "object" }),
    ...(random(4) === 0 && { discriminator: { propertyName: pick(random, names) } }),
  };
}

const definitions = {
  constant: { const: "a" },
  part: { type: "object", properties: { kind: { enum: ["c", "d"] }, op: { const: 1 } }, required: ["kind"] },
};

function value(random: Random, depth = 0): Json {
  if (random(8) === 0) return pick<Json>(random, [null, "a", 1, true, [], {}]);
  const entries = names.filter(() => random(2) === 0).map((name) => [name, pick(random, constants)] as const);
  if (depth < 2 && random(2) === 0) entries.push(["inner", value(random, depth + 1)]);
  if (random(2) === 0) entries.push(["text", pick<Json>(random, ["t", 1])]);
  return Object.fromEntries(entries);
}

describe("unions", () => {
  it("have the verdict of ajv on every value, dispatched or not", { timeout: 600_000 }, async () => {
    const draw = random(seed);
    let [valid, invalid, dispatched] = [0, 0, 0];
    for (let round = 0; round < rounds; round += 1) {
      const schemas = Array.from({ length: perRound }, () => union(draw));
      const letters = (at: number) => [...String(at)].map((digit) => "ABCDEFGHIJ"[Number(digit)]).join("");
      const messages = schemas.map((schema, at): [string, SchemaObject] => [
        `word${at}`,
        { ...object(`Word${letters(at)}`, { it: schema }), $defs: definitions },
      ]);
      const files = await generate(contract(Object.fromEntries(messages)));
      dispatched += files["made-up.validators.ts"]!.split("tagged(").length - 2;
      const checks = await checksIn(files);
      const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true });
      for (const [at, schema] of schemas.entries()) {
        const whole = ajv.compile({ properties: { it: schema }, $defs: definitions } as AnySchema);
        const check = checks[`Word${letters(at)}`]!;
        for (let count = 0; count < 40; count += 1) {
          const it = value(draw);
          const verdict = whole({ it });
          expect(check({ it }), `seed ${seed}: ${JSON.stringify(schema)} of ${JSON.stringify(it)}`).toBe(verdict);
          expectKnown(check.errors, verdict ? null : whole.errors, JSON.stringify(schema));
          verdict ? valid++ : invalid++;
        }
      }
    }
    console.log(
      `seed ${seed}: ${rounds * perRound} unions, ${dispatched} told apart, ${valid} valid values, ${invalid} others`,
    );
    expect(Math.min(valid, invalid, dispatched)).toBeGreaterThan(rounds * 100);
  });
});

/** A contract of one message whose property `it` has this schema. */
const ofOne = (it: SchemaObject) => contract({ word: { ...object("Word", { it }), $defs: definitions } });

const block = (type: Json, properties: Readonly<Record<string, Schema>>): SchemaObject => ({
  type: "object",
  required: [...Object.keys(properties), "type"],
  properties: { ...properties, type: { const: type } },
});
const text = { type: "string" };
const blocks = [block("text", { text }), block("image", { alt: text, url: text }), block("audio_file", { id: text })];

describe("the error of a union", () => {
  it.each<[schema: SchemaObject, value: Json, words: string]>([
    [{ anyOf: blocks }, { type: "video" }, '`it.type` must be text or image or audio_file, not "video"'],
    [{ oneOf: blocks }, { type: "image", url: "u" }, "`it.alt` is missing in image"],
    [{ oneOf: blocks }, { type: "text", text: 1 }, "`it.text` must be string in text"],
    [{ oneOf: blocks }, { type: "audio_file" }, "`it.id` is missing in audio_file"],
    [{ oneOf: blocks }, {}, "`it.type` is missing"],
    [{ oneOf: blocks }, "text", "`it` must be object"],
    [{ oneOf: [{ type: "null" }, ...blocks] }, "text", "`it` must be object or null"],
    [{ oneOf: [...blocks, true] }, { type: "text", text: "a" }, "`it` fits more than one alternative"],
    [
      { anyOf: [block(1, { inner: { oneOf: blocks } }), block(true, { at: text })] },
      { type: 1, inner: { type: "text" } },
      "`it.inner.text` is missing in text",
    ],
    [{ anyOf: [block(1, { at: text }), block(true, { at: text })] }, { type: true }, "`it.at` is missing"],
    [{ anyOf: [{ type: "string" }, { type: "array", items: text }] }, 1, "`it` must be string or array"],
    [{ anyOf: [{ type: "string" }, { type: "array", items: text }] }, [1], "`it.0` must be string"],
    [{ anyOf: [{ type: "string", minLength: 2 }, { type: "number" }] }, "a", "`it` breaks minLength 2"],
    [
      {
        anyOf: [object("A", { a: text }), { ...object("B", { b: text }), required: ["b"] }].map(
          ({ title, ...one }) => ({ ...one, required: [title!.toLowerCase()] }),
        ),
      },
      {},
      "`it` fits no alternative",
    ],
  ])("for %j and the value %j is: %s", async (schema, it, words) => {
    const { Word } = await checksIn(await generate(ofOne(schema)));
    expect(Word!({ it })).toBe(false);
    expect(describeFlaws(flaws(Word!))).toBe(words);
  });
});

describe("a union that is told apart", () => {
  const sizeOf = async (it: SchemaObject) => (await generate(ofOne(it)))["made-up.validators.ts"]!.length;
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => block(`kind${at}`, { text, [`own${at}`]: text }));

  it("is no longer than 1.5 times the same tests without a tag, and grows by its branches", async () => {
    const bare = (count: number) =>
      many(count).map((one) => ({ ...one, properties: { ...(one.properties as object), type: text } }));
    for (const count of [8, 64])
      expect(await sizeOf({ oneOf: many(count) })).toBeLessThan(1.5 * (await sizeOf({ anyOf: bare(count) })));
    const [few, some, lots] = [
      await sizeOf({ oneOf: many(20) }),
      await sizeOf({ oneOf: many(40) }),
      await sizeOf({ oneOf: many(80) }),
    ];
    expect(lots - some).toBeLessThan(2.2 * (some - few));
  });

  it("takes time by the number of definitions in a chain of unions", async () => {
    // Without a memory of what is known each definition doubles the work.
    const chain = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `c${at}`,
        { oneOf: [block(`k${at}`, { text }), ...(at < 39 ? Array(2).fill({ $ref: `#/$defs/c${at + 1}` }) : [])] },
      ]),
    );
    const word = { ...object("Word", { it: { $ref: "#/$defs/c0" } }), $defs: chain };
    const { Word } = await checksIn(await generate(contract({ word })));
    expect([Word!({ it: { type: "k0", text: "a" } }), Word!({ it: { type: "k1", text: "a" } })]).toEqual([true, false]);
  });

  it("is dispatched by the discriminator where several properties could", async () => {
    const named = (at: string) => ({
      type: "object",
      required: ["version", "kind"],
      properties: { version: { const: `v${at}` }, kind: { const: at } },
    });
    const { Word } = await checksIn(
      await generate(ofOne({ oneOf: [named("a"), named("b")], discriminator: { propertyName: "kind" } })),
    );
    expect(Word!({ it: { version: "v9", kind: "c" } })).toBe(false);
    expect(describeFlaws(flaws(Word!))).toBe('`it.kind` must be a or b, not "c"');
  });
});
