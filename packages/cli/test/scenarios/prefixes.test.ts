import { connect } from "@parlance/client";
import { compat } from "@parlance/language/compat";
import { docs, generate } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { type AnyMessage, codec, Violation } from "@parlance/wire";
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { listenFixture } from "../../../../examples/conformance/fixture.js";
import { suiteOf } from "../../../conformance/src/cases.js";
import { runCases } from "../../../conformance/src/node/run.js";
import { listening } from "../../../conformance/test/client-in-memory.js";
import { Conversations } from "../../../recordings/src/conversation.js";

// Messages whose names begin alike: an exact name and the longer of two prefixes come first.

const string = { type: "string" };
const schema = (title: string, properties: object, required: string[], example: object) =>
  JSON.stringify({ title, description: title, type: "object", properties, required, examples: [example] });
/** A message named by its property `type`, or by the event. */
const named = (title: string, type: object | undefined, example: string, more: object = {}) =>
  schema(title, { ...(type && { type }), data: true, ...more }, [...(type ? ["type"] : []), "data"], {
    ...(type && { type: example }),
    data: 1,
  });
const begins = (prefix: string) => ({ type: "string", pattern: `^${prefix}` });

const NAMES = ["data-*", "data-price", "data-price-*", "text", "done"];

interface Change {
  readonly tag?: object;
  readonly names?: readonly string[];
  readonly stream?: object;
  readonly contract?: object;
  readonly files?: object;
}

function folder({ tag = { in: "property", property: "type" }, names = NAMES, stream, contract, files }: Change = {}) {
  const inEvent = (tag as { in: string }).in === "event";
  const messages: Record<string, string> = {
    "data-*": named("DataPart", inEvent ? undefined : begins("data-"), "data-weather"),
    "data-price": named("PricePart", inEvent ? undefined : { const: "data-price" }, "data-price", {
      data: { type: "number" },
    }),
    "data-price-*": named("PricesPart", inEvent ? undefined : begins("data-price-"), "data-price-oslo"),
    text: named("TextPart", inEvent ? undefined : { const: "text" }, "text"),
    done: named("DonePart", inEvent ? undefined : { const: "done" }, "done"),
  };
  const file = (name: string) => `messages/${name.replaceAll("*", "any")}.json`;
  const value = {
    format: 1,
    name: "parts",
    title: "Parts",
    url: "http://localhost:1",
    tag,
    messages: Object.fromEntries(names.map((name) => [name, { schema: file(name) }])),
    operations: {
      ask: {
        method: "GET",
        path: "/ask",
        summary: "Ask.",
        answer: { status: 200, stream: { messages: names, end: ["done"], ...stream } },
      },
    },
    channels: inEvent ? {} : { talk: { path: "/talk", summary: "Talk.", client: names, server: names } },
    fault: { schema: "messages/fault.json", text: ["/error"] },
    ...contract,
  };
  return {
    name: "parts",
    files: {
      "contract.json": JSON.stringify(value),
      ...Object.fromEntries(names.map((name) => [file(name), messages[name]!])),
      "messages/fault.json": schema("FaultBody", { error: string }, ["error"], { error: "no" }),
      ...files,
    },
  };
}

const document = assemble(folder());
const parts = contractValue(document);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const said: AnyMessage[] = ["data-weather", "data-", "data-*", "data-price", "data-price-oslo", "text", "done"].map(
  (type) => ({ type, data: 1 }),
);

describe("a message whose name is a prefix", () => {
  it.each([["property"], ["event"]])("is linted, documented and typed by its %s", async (kind) => {
    const own = folder(kind === "event" ? { tag: { in: "event" } } : {});
    expect(await lint(own)).toEqual([]);
    const files = await generate(assemble(own));
    expect(files["parts.ts"]).toMatch(/type: `data-\$\{string\}`;/);
    expect(files["parts.ts"]).toContain('["data-price-*", "data-*"].find(');
    const all = docs(assemble(own));
    expect(all["parts.md"]).toContain(`${kind === "event" ? "SSE event" : "`type`"} that begins with \`data-price-\`.`);
    expect(all["parts.asyncapi.json"]).toContain("Each message whose name begins with `data-`.");
  });

  it.each([
    ["data-weather", "data-*"],
    ["data-", "data-*"],
    ["data-price", "data-price"],
    ["data-prices", "data-*"],
    ["data-price-", "data-price-*"],
    ["data-price-oslo", "data-price-*"],
    ["dat", undefined],
    ["toString", undefined],
    [["data-weather"], undefined],
    [{ startsWith: 1 }, undefined],
    [undefined, undefined],
  ])("reads the tag %j as %j", (type, name) => {
    // Only the schema of data-price asks for a number.
    const read = codec(parts, { side: "server", names: NAMES, checks: parts.checks, reads: parts.reads });
    const frame = { data: JSON.stringify({ type, data: name === "data-price" ? 1 : "x" }) };
    if (name === undefined) return expect(read.decode(frame)).toHaveProperty("unknown");
    expect(read.decode(frame)).toEqual({ message: JSON.parse(frame.data) });
    const flawed = { data: JSON.stringify({ type }) };
    expect(() => read.decode(flawed)).toThrow(`in the message ${name}`);
  });

  it("is found among the messages of its stream alone", () => {
    const read = codec(parts, { side: "server", names: ["data-*"], checks: parts.checks, reads: parts.reads });
    for (const type of ["data-price", "data-price-oslo"])
      expect(read.decode({ data: JSON.stringify({ type, data: "x" }) })).toEqual({ message: { type, data: "x" } });
    expect(() => read.encode({ type: "text" })).toThrow(Violation);
  });

  it.each([["property"], ["event"]])("is written and read in a stream with the tag in the %s", async (kind) => {
    const own = contractValue(assemble(folder(kind === "event" ? { tag: { in: "event" } } : {})));
    const app = serve(own, {
      async *ask() {
        yield* said;
      },
      ...(kind === "property" && { talk() {} }),
    });
    closing.push(() => app.close());
    const read = [];
    for await (const message of connect(own, { fetch: app.fetch as typeof fetch }).ask()) read.push(message);
    expect(read).toEqual(said);
  });

  it("is written and read on a channel, in both directions", async () => {
    const app = serve(parts, {
      async *ask() {},
      async talk(_: unknown, channel: AsyncIterable<AnyMessage> & { send(message: AnyMessage): unknown }) {
        for await (const message of channel) channel.send(message);
      },
    });
    closing.push(() => app.close());
    const client = connect(parts, { fetch: app.fetch as typeof fetch, webSocket: app.webSocket });
    const channel = await client.talk();
    for (const message of said) channel.send(message);
    const read = [];
    for await (const message of channel) if (read.push(message) === said.length) break;
    expect(read).toEqual(said);
  });

  it("is verified in recordings by its own schema", async () => {
    const tolerant = { data: { type: "array", items: string, "x-tolerance": ["skip"] } };
    const files = { "messages/data-any.json": named("DataPart", begins("data-"), "data-weather", tolerant) };
    const own = contractValue(assemble(folder({ files })));
    const talk = new Conversations(own, await own.accepts());
    const text = JSON.stringify({ type: "data-weather", data: ["a", 1] });
    const read = talk.codec("ask", "server").decode({ data: text });
    expect(read).toEqual({ message: { type: "data-weather", data: ["a"] } });
    expect(talk.rereading("server", text, (read as { message: AnyMessage }).message)).toBe(
      "`data-weather` has an error that its schema tolerates, at /data",
    );
  });

  it("has cases for conformance, which our server and our client pass", async () => {
    const suite = await suiteOf(document, contractValue);
    const server = await listenFixture(parts);
    closing.push(() => server.close());
    const results = await runCases(
      suite,
      suite.server.filter(({ acts }) => acts.length > 0),
      { server, wait: 10_000 },
    );
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    expect(results.filter(({ id }) => id.includes("data-")).length).toBeGreaterThan(3);
    const cases = suite.client.filter(({ id }) => !/\/split\/\d/.test(id));
    for (const one of cases) await one.run(listening(parts, []).peer);
    expect(cases.filter(({ id }) => id.includes("data-")).length).toBeGreaterThan(3);
  }, 60_000);

  it("narrows as the other members of a union do", () => {
    type Part = { type: `data-${string}`; data: unknown } | { type: "text"; text: string };
    const read = (part: Part) => {
      if (part.type === "text") expectTypeOf(part).toEqualTypeOf<{ type: "text"; text: string }>();
      else expectTypeOf(part.data).toEqualTypeOf<unknown>();
      if (part.type === "data-weather") expectTypeOf(part.data).toEqualTypeOf<unknown>();
    };
    read({ type: "data-weather", data: 1 });
  });
});

describe("lint", () => {
  const plain = ["data-*", "text", "done"];
  const channel = (more: object) => ({
    channels: { talk: { path: "/talk", summary: "Talk.", client: plain, server: plain, ...more } },
  });
  it.each<[what: string, change: Change, pointer: string]>([
    ["an end", { stream: { end: ["data-*"] } }, "/operations/ask/answer/stream/end/0"],
    ["an end that may be one", { stream: { mayEnd: ["data-*"] } }, "/operations/ask/answer/stream/mayEnd/0"],
    ["the failure of a stream", { stream: { fault: "data-*" } }, "/operations/ask/answer/stream/fault"],
    [
      "the text of a stream",
      { stream: { text: { append: { "data-*": "data" } } } },
      "/operations/ask/answer/stream/text/append/data-*",
    ],
    ["the failure of a channel", { contract: channel({ fault: "data-*" }) }, "/channels/talk/fault"],
    [
      "the text of a channel",
      { contract: channel({ text: { append: {}, final: { "data-*": "data" } } }) },
      "/channels/talk/text/final/data-*",
    ],
    [
      "the first message of a client",
      { contract: channel({ open: { client: "data-*" } }) },
      "/channels/talk/open/client",
    ],
    [
      "the first message of a server",
      { contract: channel({ open: { server: "data-*" } }) },
      "/channels/talk/open/server",
    ],
    ["a message that cancels", { contract: channel({ cancel: "data-*" }) }, "/channels/talk/cancel"],
    [
      "an ask",
      { contract: { exchanges: [{ ask: "data-*", by: "server", answers: [{ message: "text" }] }] } },
      "/exchanges/0/ask",
    ],
    [
      "an answer",
      { contract: { exchanges: [{ ask: "text", by: "server", answers: [{ message: "data-*" }] }] } },
      "/exchanges/0/answers/0/message",
    ],
    [
      "a refusal of an ask",
      { contract: { exchanges: [{ ask: "text", by: "client", busy: "data-*", answers: [{ message: "text" }] }] } },
      "/exchanges/0/busy",
    ],
    ["a profile's message", { contract: { profiles: { typed: { "data-*": { more: 1 } } } } }, "/profiles/typed/data-*"],
  ])("refuses a prefix as %s", async (_, change, pointer) => {
    const found = (await lint(folder({ names: plain, ...change }))).filter(({ rule }) => rule === "prefix");
    expect(found).toEqual([expect.objectContaining({ pointer, message: expect.stringContaining("one message") })]);
  });

  it.each<[what: string, change: Change, message: string]>([
    ["a prefix by shape", { tag: { in: "shape" } }, "have no names on the wire"],
    ["a prefix that is empty", { contract: { messages: { "*": { schema: "messages/text.json" } } } }, "every message"],
    [
      "a schema that allows other names",
      { files: { "messages/data-any.json": named("DataPart", string, "data-weather") } },
      'needs the property type with { "type": "string", "pattern": "^data-" }: the tag of data-*',
    ],
    [
      "an example with the name of another message",
      { files: { "messages/data-any.json": named("DataPart", begins("data-"), "data-price") } },
      "is read as data-price, which names it more closely than data-*",
    ],
    [
      "an example with a longer prefix",
      { files: { "messages/data-any.json": named("DataPart", begins("data-"), "data-price-oslo") } },
      "is read as data-price-*, which names it more closely than data-*",
    ],
  ])("refuses %s", async (_, change, message) => {
    expect((await lint(folder(change))).map((one) => one.message)).toContainEqual(expect.stringContaining(message));
  });

  it("reads a transcript's messages by their prefix", async () => {
    const line = (type: string) => JSON.stringify({ from: "server", wire: "data: x\n\n", message: { type } });
    const found = async (type: string) => await lint(folder({ files: { "transcripts/a.jsonl": `${line(type)}\n` } }));
    expect(await found("data-weather")).toEqual([]);
    expect(await found("other")).toMatchObject([{ message: "there is no message other" }]);
  });
});

describe("compat", () => {
  const changes = (before: readonly string[], after: readonly string[], change: Change = {}) =>
    compat(assemble(folder({ names: before })), assemble(folder({ names: after, ...change })))
      .filter(({ file, pointer }) => file !== "contract.json" || !pointer.startsWith("/channels"))
      .map(({ breaks, what }) => [breaks.join(" "), what]);
  const [all, few] = [NAMES, ["text", "done"]];

  it.each<[what: string, before: readonly string[], after: readonly string[], changes: string[][]]>([
    ["a new prefix", few, ["data-*", ...few], [["", "the server's message data-* was added"]]],
    ["a prefix that is gone", ["data-*", ...few], few, [["client source", "the server's message data-* was removed"]]],
    [
      "a name of its own beside a prefix",
      ["data-*", ...few],
      ["data-*", "data-price", ...few],
      [
        ["source", "data-price was read as data-* and is read as data-price"],
        ["", "the server's message data-price was added"],
        ["client source", "the schema has changed"],
      ],
    ],
    [
      "a name that a prefix now stands for",
      ["data-*", "data-price", ...few],
      ["data-*", ...few],
      [
        ["source", "data-price was read as data-price and is read as data-*"],
        ["client source", "the schema has changed"],
      ],
    ],
    [
      "a longer prefix beside a shorter one",
      ["data-*", ...few],
      ["data-*", "data-price-*", ...few],
      [
        ["source", "data-price-* was read as data-* and is read as data-price-*"],
        ["", "the server's message data-price-* was added"],
      ],
    ],
    ["nothing", all, all, []],
  ])("reports %s", (_, before, after, expected) => {
    expect(changes(before, after)).toEqual(expected);
  });
});
