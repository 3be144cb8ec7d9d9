import { lint } from "@parlance/language/lint";
import { describe, expect, test } from "vitest";
import { conversations } from "../../src/lint/conversations.js";
import { loops, references, uncounted, users } from "../../src/lint/references.js";
import { routes } from "../../src/lint/routes.js";
import { pets } from "../pets.js";
import { subject, told } from "../rules.js";

describe("A line of a transcript", () => {
  const stream = { messages: [], sentinel: "[DONE]" };
  const of = (line: object) =>
    told(
      conversations(
        subject(
          {
            tag: { in: "event" },
            messages: { said: {} },
            operations: { talk: { answer: { stream } }, tell: { answer: {} } },
            channels: { line: {} },
          },
          { transcripts: { flow: [{ note: "x" }, line] } },
        ),
      ),
    );
  const at = "transcripts/flow.jsonl#/1";
  const none = `${at} is not a line of a transcript; write a note, a call, an answer with status and body, a message with wire, or an end`;
  const nameless = `${at} has no "message"; for a frame that no message matches, write "unknown": true`;

  test.each<[line: object, findings: string[]]>([
    [{ note: "y" }, []],
    [{ note: 7 }, [none]],
    [{ from: "client", call: "talk" }, []],
    [{ from: "client", call: "line" }, []],
    [{ from: "client", call: "sing" }, [`${at}/call there is no operation or channel sing`]],
    [{ from: "server", status: 200, body: {} }, []],
    [{ from: "server", end: "done" }, []],
    [{ from: "server", wire: "x", message: { type: "said" } }, []],
    [{ from: "client", wire: "x", message: { type: "said" } }, []],
    [{ from: "server", wire: "x", message: { type: "sung" } }, [`${at}/message/type there is no message sung`]],
    [{ from: "server", wire: "x", unknown: true }, []],
    [{ from: "server", wire: "x" }, [nameless]],
    [{ from: "server", wire: "data: [DONE]\n\n" }, []],
    [{ from: "server", wire: "[DONE]" }, [nameless]],
    [{ from: "nobody", end: "done" }, [none]],
    [{ end: "done" }, [none]],
    [{ from: "server" }, [none]],
    [{ from: "server", end: "done", status: 200 }, [none]],
    [{ from: "client", call: "talk", wire: "x" }, [none]],
  ])("%j", (line, findings) => expect(of(line)).toEqual(findings));
});

describe("A reference", () => {
  const schemas = {
    "messages/a.json": { properties: { b: { $ref: "b.json" } }, $defs: { "x/y": { type: "string" } } },
    "messages/b.json": { type: "string", const: { type: "string" } },
    "shared/c.json": { $defs: { any: true, none: false, default: { default: true } }, items: true, allOf: [false] },
  };
  const of = ($ref: unknown, unreadable: string[] = []) =>
    told(
      references("messages/r.json", {
        schemas: { ...schemas, "messages/r.json": { items: { $ref } } } as never,
        unreadable: new Set(unreadable),
      }),
    );
  const at = "messages/r.json#/items/$ref refers to";

  test.each<[ref: unknown, findings: string[]]>([
    ["b.json", []],
    ["../shared/c.json", []],
    ["#/items", []],
    ["#", []],
    ["a.json#/$defs/x~1y", []],
    ["a.json#/properties/b", []],
    [7, []],
    [
      "https://x/a.json",
      [`${at} https://x/a.json, which is outside the folder of the contracts; copy the schema to messages/`],
    ],
    ["c.json", [`${at} c.json, and there is no messages/c.json; did you mean "a.json"?`]],
    ["somewhere.json", [`${at} somewhere.json, and there is no messages/somewhere.json`]],
    [
      "a.json#/$defs/x~1z",
      [`${at} a.json#/$defs/x~1z, and messages/a.json has no schema at /$defs/x~1z; did you mean "/$defs/x~1y"?`],
    ],
    ["b.json#/const", [`${at} b.json#/const, and messages/b.json has no schema at /const`]],
    ...["$defs/any", "$defs/none", "items", "allOf/0"].map((place): [string, string[]] => [
      `../shared/c.json#/${place}`,
      [],
    ]),
    [
      "../shared/c.json#/$defs/default/default",
      [`${at} ../shared/c.json#/$defs/default/default, and shared/c.json has no schema at /$defs/default/default`],
    ],
    ["#/none", [`${at} #/none, and messages/r.json has no schema at /none`]],
  ])("to %j", (ref, findings) => expect(of(ref)).toEqual(findings));

  test("to a file that cannot be read is reported there", () => {
    expect(of("c.json", ["messages/c.json"])).toEqual([]);
  });

  test("leads to all that use a file, through others", () => {
    const using = (file: string) => [...users([file], { schemas: chain as never, unreadable: new Set() })].sort();
    const chain = {
      "a.json": { $ref: "b.json#/x" },
      "b.json": { items: { $ref: "c.json" } },
      "c.json": {},
      "d.json": { $ref: "#" },
    };
    expect([using("c.json"), using("b.json"), using("a.json"), using("d.json"), using("e.json")]).toEqual([
      ["a.json", "b.json", "c.json"],
      ["a.json", "b.json"],
      ["a.json"],
      ["d.json"],
      ["e.json"],
    ]);
  });

  const loop = (schemas: object) =>
    told(loops({ schemas: schemas as never, unreadable: new Set() })).map((one) => one.split(" ")[0]);
  test.each<[what: string, schemas: object, places: string[]]>([
    ["itself", { "a.json": { $ref: "#" } }, ["a.json#/$ref"]],
    ["itself in another file", { "a.json": { $ref: "b.json" }, "b.json": { $ref: "a.json" } }, ["a.json#/$ref"]],
    ["itself through allOf", { "a.json": { allOf: [{}, { $ref: "#" }] } }, ["a.json#/allOf/1/$ref"]],
    ["itself through anyOf", { "a.json": { anyOf: [{ $ref: "#" }] } }, ["a.json#/anyOf/0/$ref"]],
    ["itself through oneOf", { "a.json": { oneOf: [{ $ref: "#" }] } }, ["a.json#/oneOf/0/$ref"]],
    ["itself through not", { "a.json": { not: { $ref: "#" } } }, ["a.json#/not/$ref"]],
    ["itself through if", { "a.json": { if: { $ref: "#" } } }, ["a.json#/if/$ref"]],
    ["itself through else", { "a.json": { else: { $ref: "#" } } }, ["a.json#/else/$ref"]],
    [
      "itself through dependentSchemas",
      { "a.json": { dependentSchemas: { k: { $ref: "#" } } } },
      ["a.json#/dependentSchemas/k/$ref"],
    ],
    [
      "a definition that refers to itself",
      { "a.json": { $defs: { d: { $ref: "#/$defs/d" } } } },
      ["a.json#/$defs/d/$ref"],
    ],
    ["itself under a property", { "a.json": { properties: { p: { $ref: "#" } } } }, []],
    ["itself in items", { "a.json": { items: { $ref: "#" } } }, []],
    ["another schema twice", { "a.json": { allOf: [{ $ref: "b.json" }, { $ref: "b.json" }] }, "b.json": {} }, []],
    ["nothing", { "a.json": { $ref: "c.json" } }, []],
  ])("of a schema to %s", (_, schemas, places) => expect(loop(schemas)).toEqual(places));
});

describe("Two routes", () => {
  type Call = { path: string; method?: string; alsoAt?: string[]; when?: object };
  const called = (one: Call, other: Call, kind = "operations") => {
    const parametersOf = ({ path, alsoAt = [] }: Call) =>
      Object.fromEntries(
        [path, ...alsoAt].flatMap((at) => [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, { in: "path" }])),
      );
    const call = (of: Call) => ({
      ...(kind === "operations" && { method: "GET" }),
      answer: {},
      parameters: { ...parametersOf(of), q: { in: "query", type: "integer", required: true } },
      ...of,
    });
    return told(routes(subject({ [kind]: { one: call(one), other: call(other) } })));
  };
  const collides = (a: string, b: string) => called({ path: a }, { path: b }).length > 0;

  test.each([
    ["/a", "/a", true],
    ["/a", "/b", false],
    ["/a", "/a/b", false],
    ["/{x}", "/{y}", true],
    ["/{x}", "/a", false],
    ["/a/{x}", "/{x}/b", true],
    ["/a/{x}", "/a/b", false],
    ["/a/{x}/c", "/{x}/b/c", true],
    ["/a/{x}/c", "/{x}/b/d", false],
    ["/a/{x}", "/b/{x}", false],
  ])("%s and %s meet: %s", (a, b, meet) => expect([collides(a, b), collides(b, a)]).toEqual([meet, meet]));

  test("of different methods, or of one call, do not collide, and of other paths too", () => {
    expect(called({ path: "/a" }, { path: "/a", method: "POST" })).toEqual([]);
    expect(called({ path: "/a", alsoAt: ["/a"] }, { path: "/b" })).toEqual([]);
    expect(called({ path: "/a", alsoAt: ["/c"] }, { path: "/b", alsoAt: ["/c"] })).toEqual([
      "#/operations/other/path /c is also the route of one (/c)",
    ]);
    expect(called({ path: "/a" }, { path: "/a" }, "channels")).toEqual([
      "#/channels/other/path /a is also the route of one (/a)",
    ]);
  });

  const when = (name: string) =>
    `does not distinguish other from one, which has the same route; give both a "when" with one property and different values, and require the property in one of them, or give it a default there`.replace(
      "other",
      name,
    );
  test.each<[one: object | undefined, other: object | undefined, findings: string[]]>([
    [{ q: 1 }, { q: 2 }, []],
    [{ q: 1 }, { q: 1 }, [`#/operations/other/when ${when("other")}`]],
    [{ q: 1 }, undefined, [`#/operations/other/path ${when("other")}`]],
    [undefined, { q: 1 }, [`#/operations/other/when ${when("other")}`]],
  ])("with the constants %j and %j", (one, other, findings) => {
    expect(called({ path: "/a", ...(one && { when: one }) }, { path: "/a", ...(other && { when: other }) })).toEqual(
      findings,
    );
  });
});

test("a chain of a thousand references is checked, with the examples in it", async () => {
  const length = 1000;
  const part = (at: number) => (at < length ? { $ref: `#/$defs/N${at}` } : { type: "string", examples: ["a", 1] });
  const links = Array.from({ length }, (_, at) => [`N${at}`, { type: "object", properties: { a: part(at + 1) } }]);
  const word = {
    title: "Word",
    type: "object",
    properties: { a: part(0) },
    $defs: Object.fromEntries(links),
    examples: [{}],
  };
  const fault = { title: "FaultBody", type: "object", properties: { error: { type: "string" } }, examples: [{}] };
  const talk = { method: "GET", path: "/talk", summary: "Talk.", answer: { status: 200, json: "messages/word.json" } };
  const files = {
    "contract.json": {
      format: 1,
      name: "made-up",
      title: "Made up",
      url: "http://localhost:1",
      tag: { in: "event" },
      messages: {},
      operations: { talk },
      channels: {},
      fault: { schema: "messages/fault.json", text: ["/error"] },
    },
    "messages/word.json": word,
    "messages/fault.json": fault,
  };
  const texts = Object.entries(files).map(([file, value]) => [file, JSON.stringify(value)]);
  const findings = await lint({ name: "made-up", files: Object.fromEntries(texts) });
  expect(findings.map(({ pointer, message }) => `${pointer} ${message}`)).toEqual([
    "/$defs/N999/properties/a/examples/1 does not match its schema: must be string",
  ]);
});

describe("`unevaluatedItems`", () => {
  const contains = { contains: { type: "string" } };
  const of = (schema: object) =>
    [...uncounted({ schemas: { "a.json": schema, "b.json": contains } as never, unreadable: new Set() })].map(
      ({ pointer }) => pointer,
    );
  test.each<[what: string, schema: object]>([
    ["in the same schema", contains],
    ["in a part of it", { allOf: [contains] }],
    ["in one of several", { anyOf: [{ oneOf: [contains] }] }],
    ["in a condition", { if: contains, else: {} }],
    ["in another file", { $ref: "b.json" }],
    ["in a definition", { allOf: [{ $ref: "#/$defs/Some" }], $defs: { Some: contains } }],
  ])("is refused with a `contains` %s", (_, schema) => {
    expect(of({ unevaluatedItems: false, ...schema })).toEqual(["/unevaluatedItems"]);
  });

  test("stands with a `contains` for other values", () => {
    expect(of({ unevaluatedItems: contains, prefixItems: [contains] })).toEqual([]);
    expect(of({ properties: { a: { unevaluatedItems: false }, b: contains } })).toEqual([]);
  });
});

describe("references through many schemas", () => {
  const through = (length: number, isRing: boolean, of: (next: object) => object) =>
    Object.fromEntries(
      Array.from({ length }, (_, at) => [
        `d${at}`,
        at === length - 1 && !isRing ? { type: "string" } : of({ $ref: `#/$defs/d${(at + 1) % length}` }),
      ]),
    );
  test.each(["allOf", "anyOf"])("are followed to the end of 5,000 by %s", (word) => {
    const $defs = through(5000, false, (next) => ({ [word]: [next] }));
    const ring = through(5000, true, (next) => ({ [word]: [next] }));
    const only = (all: object) =>
      ({ "a.json": { title: "A", unevaluatedItems: false, $ref: "#/$defs/d0", $defs: all } }) as never;
    expect([...uncounted({ schemas: only($defs), unreadable: new Set() })]).toEqual([]);
    expect([
      ...uncounted({ schemas: only({ ...ring, d4999: { contains: true } }), unreadable: new Set() }),
    ]).toHaveLength(1);
  });

  test("are refused in a ring that is too long for its validator", async () => {
    const $defs = through(1000, true, (next) => ({ type: "array", items: next }));
    const { files } = pets();
    const said = { ...JSON.parse(files["messages/said.json"]!), $defs };
    said.properties.more = { $ref: "#/$defs/d0" };
    const findings = await lint({ name: "pets", files: { ...files, "messages/said.json": JSON.stringify(said) } });
    expect(findings).toMatchObject([
      {
        file: "messages/said.json",
        message: expect.stringContaining("too long to be checked; refer to fewer schemas"),
      },
    ]);
  });
});
