import { readFileSync } from "node:fs";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Edit, pets, table } from "./pets.js";

interface Case extends Edit {
  readonly part: string;
  readonly fault: string;
  /** Rule, file and pointer of the one finding. */
  readonly found: string;
  /** Its message, whole. */
  readonly words: string;
}

const cases: readonly Case[] = table(readFileSync(new URL("./lint.jsonl", import.meta.url), "utf8"));
const place = ({ rule, file, pointer }: { rule: string; file: string; pointer: string }) =>
  `${rule} ${file}#${pointer}`;

test("a sound contract has no findings", async () => {
  expect(await lint(pets())).toEqual([]);
});

test("`x-secret` is no fault, in a schema or at a parameter", async () => {
  for (const at of ["said#/properties/text", "#/operations/tell/parameters/pet_id"])
    expect(await lint(pets({ set: { [`${at}/x-secret`]: true } }))).toEqual([]);
});

describe("`x-secret` is known by the name of a property", () => {
  const string = { type: "string" };
  const marked = { ...string, "x-secret": true };
  const under: Record<string, object> = {
    itself: marked,
    items: { type: "array", items: marked },
    "items of items": { type: "array", items: { type: "array", items: marked } },
    "one of several": { anyOf: [{ type: "null" }, marked] },
    prefixItems: { type: "array", prefixItems: [string, marked] },
    "its other properties": { type: "object", additionalProperties: marked },
    "properties by a pattern": { type: "object", patternProperties: { "^k": marked } },
    "a reference": { $ref: "#/$defs/badge" },
    "a list of references": { type: "array", items: { $ref: "#/$defs/badge" } },
  };
  test.each(Object.keys(under))("of its %s", async (where) => {
    const folder = pets({ set: { "said#/properties/badge": under[where], "said#/$defs": { badge: marked } } });
    const unused = where.includes("reference") ? [] : ["secret messages/said.json#/$defs/badge/x-secret"];
    expect((await lint(folder)).map(place)).toEqual(unused);
    expect(assemble(folder).contract.secrets).toEqual(["badge"]);
  });

  test.each([
    ["", true, "on a value without a name"],
    ["/properties/text", "yes", 'is "yes"; write true'],
    ["/additionalProperties", true, "on a value without a name"],
  ])("and at %j an error where none names it, or the mark is not true", async (at, mark, words) => {
    const set =
      at === "/additionalProperties" ? { [`said#${at}`]: { "x-secret": mark } } : { [`said#${at}/x-secret`]: mark };
    const findings = await lint(pets({ set }));
    expect(findings.map(place)).toEqual([`secret messages/said.json#${at}/x-secret`]);
    expect(findings[0]!.message).toContain(words);
  });
});

describe.each(["contract.json", "exchanges", "schemas", "tags", "transcripts"])(
  "lint of %s has one error, with place and advice, when",
  (part) => {
    test.each(cases.filter((one) => one.part === part))("$fault", async ({ found, words, ...edit }) => {
      const findings = (await lint(pets(edit))).map((finding) => ({ at: place(finding), message: finding.message }));
      expect(findings).toEqual([{ at: found, message: words }]);
    });
  },
);

test("many faults are reported in one run, broken files or not", async () => {
  const findings = await lint(
    pets({
      text: { "messages/word.json": "{" },
      set: {
        "said#/properties/text/minLenght": 1,
        "fault#/title": "fault body",
        "#/surprise": true,
        "#/exchanges/0/key": "id",
      },
    }),
  );
  expect(findings.map(place)).toEqual([
    "exchange contract.json#/exchanges/0/key",
    "form contract.json#/surprise",
    "title messages/fault.json#/title",
    "keyword messages/said.json#/properties/text/minLenght",
    "json messages/word.json#",
  ]);
});

test.each(["not", "dependentSchemas"])(
  "a property in `%s` needs no description, and those beside it do",
  async (word) => {
    const condition = { properties: { extra: { type: "string" } }, required: ["extra"] };
    const set = { [`said#/${word}`]: word === "dependentSchemas" ? { text: condition } : condition };
    const findings = await lint(pets({ set }), { descriptions: true });
    const places = findings.filter(({ rule, file }) => rule === "description" && file === "messages/said.json");
    expect(places.map(({ pointer }) => pointer)).toEqual(["/properties/text"]);
  },
);

test("the properties or parameters of a file without a description are one warning where descriptions are asked for", async () => {
  const many = Object.fromEntries([..."abcdefgh"].map((name) => [name, { type: "string" }]));
  const findings = await lint(pets({ set: { "fault#/properties/more": { type: "object", properties: many } } }), {
    descriptions: true,
  });
  const one = 'has no "description": say what it is in a sentence';
  const several = 'have no "description": say what each is in a sentence';
  expect(findings.map((finding) => [`${finding.severity} ${place(finding)}`, finding.message])).toEqual([
    ["warning description contract.json#/operations/talk/parameters/loud", `loud and pet_id ${several}`],
    ["warning description messages/ask.json#/properties/ask_id", `ask_id ${one}`],
    ["warning description messages/base.json#/properties/stream", `stream ${one}`],
    ["warning description messages/fault.json#/properties/error", `error, more, a, b, c and 5 others ${several}`],
    ["warning description messages/reply.json#/properties/ask_id", `ask_id and yes ${several}`],
    ["warning description messages/said.json#/properties/text", `text ${one}`],
    ["warning description messages/talk.json#/properties/words", `words ${one}`],
  ]);
});

test("a property that is judged by a condition, and described beside it, needs no second description", async () => {
  const bare = async (conditions: object) => {
    const set = { "said#/properties/text/description": "Words.", ...conditions };
    return (await lint(pets({ set }), { descriptions: true })).filter(({ file }) => file === "messages/said.json");
  };
  const judged = { properties: { text: { minLength: 1 } } };
  const conditions = { "said#/if": judged, "said#/then": judged, "said#/not": { properties: { text: { const: "" } } } };
  expect(await bare(conditions)).toEqual([]);
  const inner = await bare({ "said#/allOf": [{ properties: { tone: { type: "string" } } }] });
  expect(inner.map(place)).toEqual(["description messages/said.json#/allOf/0/properties/tone"]);
});

test("walls that people met are gone: closed objects, siblings of a reference, anchors, definitions, tuples, notes, files beside messages/", async () => {
  const set = {
    "#/formats": { ticket: { description: "A ticket.", pattern: "^T-[0-9]+$" } },
    "said#/$schema": "https://json-schema.org/draft/2020-12/schema",
    "said#/unevaluatedProperties": false,
    "said#/x-owner": "pets",
    "said#/discriminator": { propertyName: "kind" },
    "said#/definitions": { Old: { $anchor: "old", type: "integer", format: "int64" } },
    "said#/properties/count": { $ref: "#old", description: "A sibling.", minimum: 0 },
    "said#/properties/pair": { type: "array", prefixItems: [{ type: "string" }, { format: "idn-email" }] },
    "said#/properties/ticket": { type: "string", format: "ticket", title: "The Ticket" },
    "said#/properties/toy": { $ref: "../shared/toy.json" },
    "said#/properties/far": { $ref: "../../common/far.json#/$defs/deep" },
    "fault#/title": "OAuth2",
    "word#/title": "Range",
  };
  const text = {
    "shared/toy.json": '{"title":"Toy","type":"object","additionalProperties":false,"properties":{},"examples":[{}]}',
    "../common/far.json": '{"title":"Far","$defs":{"deep":{"type":"string"}},"examples":[1]}',
  };
  expect(await lint(pets({ set, text }))).toEqual([]);
});

test("a reference to true allows any value, and one to false none", async () => {
  const set = {
    "said#/$defs": { Any: true, None: false },
    "said#/properties/any": { $ref: "#/$defs/Any" },
    "said#/properties/none": { type: "array", items: { $ref: "#/$defs/None" } },
  };
  const of = (more: object) =>
    lint(pets({ set: { ...set, "said#/examples": [{ kind: "said", text: "a", ...more }] } }));
  expect(await of({ any: { a: 1 }, none: [] })).toEqual([]);
  expect((await of({ none: [1] })).map(place)).toEqual(["example messages/said.json#/examples/0/none/0"]);
});

test("schemas are judged though contract.json cannot be read", async () => {
  const findings = await lint(pets({ text: { "contract.json": "{" }, set: { "said#/examples": [] } }));
  expect(findings.map(place)).toEqual(["json contract.json#", "example messages/said.json#"]);
});

test("whatever stands at any place of a contract, lint returns and names files that are there", async () => {
  const sound = pets();
  const whole = Object.keys(sound.files).filter((file) => file.endsWith(".json"));
  const targets = whole.flatMap((file) =>
    [...places(JSON.parse(sound.files[file]!))].map((place) => ({ file, place })),
  );
  const put = (value: Record<string, unknown>, [key, ...rest]: readonly string[], junk: unknown): void => {
    if (rest.length > 0) put(value[key!] as Record<string, unknown>, rest, junk);
    else if (junk === undefined) delete value[key!];
    else value[key!] = junk;
  };
  const junk = [
    undefined,
    null,
    true,
    0,
    "",
    "said",
    "messages/said.json",
    "#/a",
    [],
    [null],
    ["said"],
    {},
    { a: {} },
    [{}],
  ];
  const property = fc.asyncProperty(
    fc.constantFrom(...targets),
    fc.constantFrom(...junk),
    async ({ file, place }, value) => {
      const broken = JSON.parse(sound.files[file]!);
      put(broken, place, value);
      const findings = await lint(pets({ text: { [file]: JSON.stringify(broken) } }), { patterns: false });
      for (const finding of findings) expect(Object.keys(sound.files)).toContain(finding.file);
    },
  );
  await fc.assert(property, { numRuns: Number(process.env.RUNS ?? 40) });
});

/** Every place of a JSON value, as the keys that lead there. */
function* places(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    yield [...path, key];
    yield* places(child, [...path, key]);
  }
}
