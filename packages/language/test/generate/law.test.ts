import { generate } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble, type ContractFolder } from "@parlance/language/load";
import type { Checks, Json, SchemaObject } from "@parlance/wire";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import suite from "json-schema-test-suite";
import { expect, test } from "vitest";
import { compile } from "../../../protocols/test/compile.js";
import { FORMATS } from "../../src/formats.js";
import { declaredFormats } from "../../src/source.js";
import { definitions, draw, others, pick, type Random, random, titles } from "./draw.js";

const seed = Number(process.env.SEED ?? 2026);
const long = process.env.PARLANCE_LONG !== undefined;
const drawn = long ? 2000 : 50;

/** A schema at three places: in a message, in a body beside parameters, and as an answer. */
interface Subject {
  readonly folder: ContractFolder;
  readonly schema: SchemaObject;
  readonly values: readonly Json[];
}

const formats = {
  "moon-phase": { description: "A phase." },
  ticket: { description: "A ticket.", pattern: "^T-[0-9]+$" },
};

function subject(schema: SchemaObject, values: readonly Json[], [message, answer]: readonly string[]): Subject {
  const stream = { method: "POST", path: "/talk/{id}", summary: "Talk.", body: "messages/body.json" };
  const contract = {
    format: 1,
    name: "made-up",
    title: "Made up",
    url: "http://localhost:1",
    tag: { in: "event" },
    formats,
    messages: { drawn: { schema: "messages/drawn.json" } },
    operations: {
      talk: {
        ...stream,
        parameters: { id: { in: "path", type: "string" } },
        answer: { status: 200, stream: { messages: ["drawn"] } },
      },
      read: { method: "GET", path: "/read", summary: "Read.", answer: { status: 200, json: "messages/answer.json" } },
    },
    channels: {},
    fault: { schema: "messages/fault.json", text: ["/error"] },
  };
  const files: Record<string, object> = {
    "contract.json": contract,
    ...others,
    "messages/drawn.json": { title: message, type: "object", properties: { value: { $ref: "answer.json" } } },
    "messages/body.json": { title: "Body", type: "object", properties: { value: { $ref: "answer.json" }, text: true } },
    "messages/answer.json": { ...schema, title: answer },
    "messages/fault.json": { title: "FaultBody", type: "object", properties: { error: { type: "string" } } },
  };
  const texts = Object.entries(files).map(([file, value]) => [file, JSON.stringify(value)]);
  return { folder: { name: "made-up", files: Object.fromEntries(texts) }, schema, values };
}

const junk: readonly Json[] = [
  ...[null, true, false, 0, -1, 1.5, 2, 1e21, "", "a", "one", "T-1", "2020-01-01T00:00:00Z", "a@b.c"],
  ...[[], [1], ["a"], [1, "a"], [null, null, null, null], [[1]], {}, { a: 1 }, { a: "b" }, { b: true, "x-y": 1 }],
  ...[
    { kind: "a", a: { a: {} } },
    { "": [], "1st": "a" },
    { children: [{ children: [] }] },
    { children: [{ children: 1 }] },
  ],
  ...[{ constructor: 1, toString: "a" }, { self: { self: { a: 1 } } }, { "two words": "a", 'q"q': 0 }],
];

function* subjects(random: Random): Generator<Subject> {
  const names = () => {
    const first = pick(random, titles);
    const second = pick(random, titles);
    return [first, second === first ? "Answer" : second];
  };
  let count = 0;
  for (const draft of ["draft3", "draft4"])
    for (const { schemas } of suite.loadAllSync(draft))
      for (const { schema, tests } of schemas)
        if (long || count++ % 6 === 0) yield subject(schema, [...tests.map(({ data }) => data), ...junk], names());
  for (count = 0; count < drawn; count += 1) {
    const one = draw(random);
    const schema = typeof one === "boolean" ? { allOf: [one] } : one;
    yield subject({ ...schema, ...definitions, ...(count % 2 && { $anchor: "named" }) }, junk, names());
  }
}

test("whatever lint passes generates, compiles, and has ajv's verdict; whatever it refuses has advice", {
  timeout: 900_000,
}, async () => {
  const sources: Record<string, string> = {};
  let refused = 0;
  let passed = 0;
  for (const { folder, schema, values } of subjects(random(seed))) {
    const where = `seed ${seed}: ${JSON.stringify(schema)}`;
    const findings = await lint(folder, { patterns: false });
    const faults = findings.filter(({ message, rule }) => rule !== "example" && !message.startsWith("has no example"));
    if (faults.length > 0) {
      refused += 1;
      for (const { message } of faults) expect(message, where).not.toMatch(/strict mode/);
      continue;
    }
    passed += 1;
    const document = assemble(folder);
    const files = await generate(document).catch((error) => expect.fail(`${where}: ${error.stack}`));
    sources[`law-${passed}`] = alone(files["made-up.ts"]!);
    const ajv = judge(document.source);
    for (const one of Object.values(document.schemas)) ajv.addSchema(one as AnySchema);
    const title = Object.keys(document.files).find((name) => document.files[name] === "messages/answer.json")!;
    const whole = ajv.getSchema(document.schemas[title]!.$id as string)!;
    const written = checksOf(files["made-up.validators.ts"]!);
    const accepted = checksOf(files["made-up.accepts.ts"]!);
    for (const value of values) {
      const verdict = whole(value);
      const at = `${where}: ${JSON.stringify(value)}`;
      expect(written[title]!(value), at).toBe(verdict);
      expect(written[document.contract.messages.drawn!.schema]!({ value }), at).toBe(verdict);
      expect(accepted.TalkInput!({ id: "1", value }), at).toBe(verdict);
    }
  }
  console.log(`seed ${seed}: ${passed} schemas passed lint, ${refused} were refused`);
  expect(refused).toBeGreaterThan(0);
  expect(passed).toBeGreaterThan(long ? 1000 : 40);
  const errors = Object.entries(compile(sources).errors).filter(([, found]) => found.length > 0);
  expect(errors.slice(0, 5).map(([name, found]) => `seed ${seed}: ${found.join("\n")}\n${sources[name]}`)).toEqual([]);
});

function judge(source: object): Ajv2020 {
  const ajv = new Ajv2020({ strict: false });
  for (const [name, format] of FORMATS) ajv.addFormat(name, format);
  for (const [name, format] of declaredFormats(source)) ajv.addFormat(name, format);
  return ajv;
}

/** A generated file without the files beside it. */
const alone = (text: string) =>
  text
    .replace(/^import \{ checks, reads \}.*$/m, 'declare const { checks, reads }: import("@parlance/wire").Accepts;')
    .replace(/\(\) => import\([^)]*\)/, "null as never");

function checksOf(text: string): Checks {
  const code = text
    .replace(/^(?:import type|export const reads:|export const examples) .*$/gm, "")
    .replace("export const checks: Checks =", "return");
  return new Function(code)();
}
