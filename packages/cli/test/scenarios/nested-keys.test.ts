import { connect } from "@parlance/client";
import { compat } from "@parlance/language/compat";
import { docs, generate } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { OpenAsks } from "@parlance/wire/link";
import { afterEach, describe, expect, it } from "vitest";
import { listenFixture } from "../../../../examples/conformance/fixture.js";
import { suiteOf } from "../../../conformance/src/cases.js";
import { runCases } from "../../../conformance/src/node/run.js";
import { listening } from "../../../conformance/test/client-in-memory.js";

// Keys of exchanges inside an object, in the shape of opencode: an event is { type, properties }, and a question is answered by an operation.

const string = { type: "string" };
const object = (title: string, properties: object, required: string[], example: object) =>
  JSON.stringify({ title, description: title, type: "object", properties, required, examples: [example] });
const inside = (...names: string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, string])),
  required: names,
});
const event = (title: string, type: string, properties: Record<string, string>) =>
  object(title, { type: { const: type }, properties: inside(...Object.keys(properties)) }, ["type", "properties"], {
    type,
    properties,
  });

const byOperation = {
  ask: "permission.updated",
  by: "server",
  key: "/properties/id",
  answers: [{ operation: "decide", key: "permissionID" }],
};
const byServer = {
  ask: "question",
  by: "server",
  key: "/properties/id",
  answers: [{ message: "reply", key: "/about/id" }],
};
const byClient = { ask: "prompt", by: "client", key: "/properties/id", answers: [{ message: "echo" }] };

function folder(...exchanges: object[]) {
  const contract = {
    format: 1,
    name: "events",
    title: "Events",
    url: "http://localhost:4096",
    tag: { in: "property", property: "type" },
    session: "sessionID",
    messages: Object.fromEntries(
      ["permission.updated", "idle", "question", "reply", "prompt", "echo"].map((name) => [
        name,
        { schema: `messages/${name}.json` },
      ]),
    ),
    operations: {
      events: {
        method: "GET",
        path: "/session/{sessionID}/event",
        summary: "Listen.",
        parameters: { sessionID: { in: "path", type: "string" } },
        answer: { status: 200, stream: { messages: ["idle", "permission.updated"], closedBy: "close" } },
      },
      decide: {
        method: "POST",
        path: "/session/{sessionID}/permissions/{permissionID}",
        summary: "Decide.",
        parameters: { sessionID: { in: "path", type: "string" }, permissionID: { in: "path", type: "string" } },
        body: "messages/decision.json",
        answer: { status: 200 },
      },
      close: {
        method: "DELETE",
        path: "/session/{sessionID}",
        summary: "End a session.",
        parameters: { sessionID: { in: "path", type: "string" } },
        answer: { status: 200 },
      },
    },
    channels: {
      talk: { path: "/talk", summary: "Talk.", client: ["reply", "prompt"], server: ["question", "echo"] },
    },
    exchanges,
    fault: { schema: "messages/fault.json", text: ["/error"] },
  };
  return {
    name: "events",
    files: {
      "contract.json": JSON.stringify(contract),
      "messages/permission.updated.json": event("PermissionUpdated", "permission.updated", {
        id: "p-1",
        title: "Run ls",
      }),
      "messages/idle.json": event("Idle", "idle", { note: "n" }),
      "messages/question.json": event("Question", "question", { id: "q-1", text: "Sure?" }),
      "messages/reply.json": object(
        "Reply",
        { type: { const: "reply" }, about: inside("id"), yes: { type: "boolean" } },
        ["type", "about", "yes"],
        { type: "reply", about: { id: "q-1" }, yes: true },
      ),
      "messages/prompt.json": event("Prompt", "prompt", { id: "r-1", text: "Hi" }),
      "messages/echo.json": event("Echo", "echo", { id: "r-1", text: "Hi" }),
      "messages/decision.json": object("Decision", { response: { enum: ["once", "reject"] } }, ["response"], {
        response: "once",
      }),
      "messages/fault.json": object("FaultBody", { error: string }, ["error"], { error: "no" }),
    },
  };
}

const all = [byOperation, byServer, byClient];
const document = assemble(folder(...all));
const events = contractValue(document);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const permission = (id: string) => ({ type: "permission.updated", properties: { id, title: "Run ls" } });

describe("an exchange whose key is a pointer", () => {
  it("is linted, typed and documented", async () => {
    expect(await lint(folder(...all))).toEqual([]);
    const { "events.ts": types } = await generate(document);
    expect(types).toContain(`"permission.updated": ({ type: "decide" } & DecideInput);`);
    const { "events.asyncapi.json": api, "events.md": page } = docs(document);
    expect(JSON.parse(api!).components.messages.question.correlationId).toEqual({
      location: "$message.payload#/properties/id",
    });
    expect(page).toContain("| [decide](#decide) | `/properties/id` |");
  });

  it.each<[what: string, exchange: object, pointer: string, message: string]>([
    ["of the ask", { ...byServer, key: "/propertys/id" }, "/key", "has no property propertys; did you mean"],
    [
      "below one of the ask",
      { ...byServer, key: "/properties/di" },
      "/key",
      'no property di in /properties; did you mean "id"?',
    ],
    [
      "below a string of the ask",
      { ...byServer, key: "/properties/id/more" },
      "/key",
      "no property more in /properties/id",
    ],
    [
      "of the answer",
      { ...byServer, answers: [{ message: "reply", key: "/about/ID" }] },
      "/answers/0/key",
      "no property ID in /about",
    ],
    [
      "that an answer does not repeat",
      { ...byServer, answers: [{ message: "reply" }] },
      "/answers/0",
      "no property properties, the key of this exchange",
    ],
    [
      "of an operation",
      { ...byOperation, answers: [{ operation: "decide", key: "/permission/id" }] },
      "/answers/0/key",
      "no property permission",
    ],
  ])("is refused where there is no such property %s", async (_, exchange, pointer, message) => {
    expect(await lint(folder(exchange))).toEqual([
      expect.objectContaining({ pointer: `/exchanges/0${pointer}`, message: expect.stringContaining(message) }),
    ]);
  });

  it("has other answers for compat than one with another place", () => {
    const [before, after] = [folder(byServer), folder({ ...byServer, key: "/properties/text" })].map(assemble);
    expect(compat(before!, after!).map(({ what }) => what)).toEqual([
      "the server's ask question has different answers",
    ]);
  });

  it("finds the ask by the value there, which a property of that name is not", () => {
    const asks = new OpenAsks(events, "server");
    const [one, two] = ["1", "2"].map((id) => asks.open({ ...permission(id), "/properties/id": "2" } as never));
    expect(asks.answer({ type: "decide", permissionID: "2" } as never)?.ask).toBe(two);
    expect(asks.answer({ type: "decide", permissionID: "1" } as never)?.ask).toBe(one);
    expect(asks.answer({ type: "decide", permissionID: "1" } as never)).toBeUndefined();
  });

  it("asks on a stream, and is answered by the operation once", async () => {
    const decided: unknown[] = [];
    const app = serve(events, {
      async *events(_: unknown, call: { ask(message: object): Promise<object> }) {
        yield { type: "idle", properties: { note: "n" } };
        decided.push(...(await Promise.all([call.ask(permission("a")), call.ask(permission("b"))])));
      },
      decide() {},
      close() {},
      talk() {},
    });
    closing.push(() => app.close());
    const client = connect(events, { fetch: app.fetch as typeof fetch });
    const input = { sessionID: "s-1" };
    for await (const message of client.events(input)) {
      if (message.type !== "permission.updated") continue;
      const { id } = message.properties as { id: string };
      const answer = { ...input, permissionID: id, response: id === "a" ? "once" : "reject" };
      await client.decide(answer);
      await expect(client.decide(answer)).rejects.toMatchObject({ name: "Refusal", status: 409 });
      if (id === "b") break;
    }
    expect(decided).toMatchObject([
      { permissionID: "a", response: "once" },
      { permissionID: "b", response: "reject" },
    ]);
  });

  it("asks on a channel from either side, with answers in any order", async () => {
    const app = serve(events, {
      async *events() {},
      decide() {},
      close() {},
      async talk(
        _: unknown,
        channel: AsyncIterable<never> & { ask(message: object): Promise<object>; send(message: object): unknown },
      ) {
        const asked = ["1", "2"].map((id) => channel.ask({ type: "question", properties: { id, text: "?" } }));
        const echo = async (prompt: Promise<object>) =>
          channel.send({ type: "echo", properties: { id: "r", text: JSON.stringify(await prompt) } });
        void Promise.all(asked).then(([one, two]) => echo(Promise.resolve({ one, two })));
        for await (const _ of channel);
      },
    });
    closing.push(() => app.close());
    const channel = await connect(events, { fetch: app.fetch as typeof fetch, webSocket: app.webSocket }).talk();
    const told = channel.ask({ type: "prompt", properties: { id: "r", text: "?" } });
    const seen: { properties: { id: string } }[] = [];
    for await (const message of channel) if (seen.unshift(message as never) === 2) break;
    for (const { properties } of seen)
      channel.send({ type: "reply", about: { id: properties.id }, yes: properties.id === "1" });
    const { properties } = (await told) as { properties: { text: string } };
    expect(JSON.parse(properties.text)).toMatchObject({ one: { yes: true }, two: { yes: false } });
  });

  it("has cases for conformance, which our server and our client pass", async () => {
    const suite = await suiteOf(document, contractValue);
    const server = await listenFixture(events);
    closing.push(() => server.close());
    const cases = suite.server.filter(({ acts, id }) => acts.length > 0 && /by-key|double|late|ask/.test(id));
    expect(cases.length).toBeGreaterThan(3);
    const results = await runCases(suite, cases, { server, wait: 10_000 });
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
    const asked = suite.client.filter(({ id }) => id.includes("/ask/"));
    for (const one of asked) await one.run(listening(events, []).peer);
    expect(asked.length).toBeGreaterThan(0);
  }, 60_000);
});
