import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ConnectOptions, connect } from "@parlance/client";
import { compat } from "@parlance/language/compat";
import { docs } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import type { ConnectionEvent } from "@parlance/wire";
import { afterEach, describe, expect, it } from "vitest";
import { schema, string } from "./message-files.js";

// Streams that are joined again as other servers offer it: OpenAI's Responses by a number, the AI SDK from the beginning, and MCP, LangGraph
// and any EventSource by Last-Event-ID.

const integer = { type: "integer" };
const id = { in: "path", type: "string" };

type Rejoins = Record<"respond" | "chat" | "post" | "watch", object | undefined>;
const DEFAULT: Rejoins = {
  respond: {
    operation: "retrieve",
    input: { response_id: "/response/id" },
    after: { starting_after: "/sequence_number" },
  },
  chat: { operation: "reconnect", repeats: true },
  post: { operation: "listen" },
  watch: { operation: "watch" },
};

function folder(rejoins: Partial<Rejoins> = {}) {
  const stream = { messages: ["created", "text", "done", "error"], end: ["done", "error"], fault: "error" };
  const operation = (method: string, path: string, parameters?: object, answer: object = {}) => ({
    method,
    path,
    summary: `${method} ${path}.`,
    ...(parameters && { parameters }),
    answer: { status: 200, ...answer, stream: { ...stream, text: { append: { text: "text" } } } as object },
  });
  const operations = {
    respond: operation("POST", "/responses"),
    retrieve: {
      ...operation("GET", "/responses/{response_id}", {
        response_id: id,
        starting_after: { in: "query", type: "integer" },
        stream: { in: "query", type: "boolean", required: true },
      }),
      when: { stream: true },
    },
    chat: operation("POST", "/chat/{id}", { id }),
    reconnect: operation("GET", "/chat/{id}/stream", { id }, { none: 204 }),
    post: operation("POST", "/mcp"),
    listen: operation("GET", "/mcp"),
    watch: operation("GET", "/watch/{id}", { id }),
  };
  for (const [name, rejoin] of Object.entries({ ...DEFAULT, ...rejoins }))
    if (rejoin) Object.assign(operations[name as keyof Rejoins].answer.stream, { rejoin });
  const contract = {
    format: 1,
    name: "turns",
    title: "Turns",
    url: "http://localhost:1",
    tag: { in: "property", property: "type" },
    messages: {
      created: { schema: "messages/created.json" },
      text: { schema: "messages/text.json" },
      done: { schema: "messages/done.json" },
      error: { schema: "messages/error.json", fault: { text: ["/error"] } },
    },
    operations,
    channels: {},
    fault: { schema: "messages/fault.json", text: ["/error"] },
  };
  const numbered = { sequence_number: integer };
  return {
    name: "turns",
    files: {
      "contract.json": JSON.stringify(contract),
      "messages/created.json": schema(
        "Created",
        { type: { const: "created" }, response: { type: "object", properties: { id: string } }, ...numbered },
        { type: "created", response: { id: "r" }, sequence_number: 0 },
      ),
      "messages/text.json": schema(
        "TextMessage",
        { type: { const: "text" }, text: string, ...numbered },
        { type: "text", text: "a", sequence_number: 1 },
      ),
      "messages/done.json": schema(
        "DoneMessage",
        { type: { const: "done" }, ...numbered },
        { type: "done", sequence_number: 2 },
      ),
      "messages/error.json": schema(
        "ErrorMessage",
        { type: { const: "error" }, error: string },
        { type: "error", error: "no" },
      ),
      "messages/fault.json": schema("FaultBody", { error: string }, { error: "no" }),
    },
  };
}

const turns = contractValue(assemble(folder()));
const whole = [
  { type: "created", response: { id: "r/1" }, sequence_number: 0 },
  ...["a", "b", "c", "d"].map((text, i) => ({ type: "text", text, sequence_number: i + 1 })),
  { type: "done", sequence_number: 5 },
];
const WAYS = ["respond", "chat", "post", "watch"] as const;
type Way = (typeof WAYS)[number];

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** What a server does with a request: the messages of an answer that is then cut or ended, or a status. */
type Answer =
  | { readonly send: readonly object[]; readonly from?: number; readonly cut?: boolean }
  | { readonly status: number };

/** A server that answers one request after the other, with an id for each event, and notes how each was asked. */
async function answering(answers: (Answer | ((request: IncomingMessage) => Answer))[], withIds = true) {
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const last = request.headers["last-event-id"];
    asked.push(`${request.method} ${request.url}${last === undefined ? "" : ` after ${last}`}`);
    const next = answers.shift() ?? { status: 404 };
    const answer = typeof next === "function" ? next(request) : next;
    if ("status" in answer) return void response.writeHead(answer.status).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const { send, from = 0, cut } = answer;
    const blocks = send.map((one, i) => `${withIds ? `id: e${from + i}\n` : ""}data: ${JSON.stringify(one)}\n\n`);
    // Half an event is no event.
    response.write(blocks.join("") + (cut ? 'id: e9\ndata: {"type":' : ""), () => {
      if (cut) response.destroy();
      else response.end();
    });
  }).listen(0, "127.0.0.1");
  closing.push(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, client: (options: ConnectOptions = {}) => connect(turns, { baseUrl, random: () => 0, ...options }) };
}

/** The answer to a join that keeps the promise, of a stream whose first `read` messages were sent. */
const rest = (way: Way, read: number, cut?: number): Answer => {
  const from = way === "chat" ? 0 : read;
  return { send: whole.slice(from, cut), from, ...(cut !== undefined && { cut: true }) };
};

const open = (client: ReturnType<Awaited<ReturnType<typeof answering>>["client"]>, way: Way, options?: object) =>
  way === "chat" || way === "watch" ? client[way]({ id: "c 1" }, options) : client[way](options);

async function all(messages: AsyncIterable<unknown>): Promise<unknown[]> {
  const found = [];
  for await (const message of messages) found.push(message);
  return found;
}

const requests: Record<Way, string[]> = {
  respond: [
    "POST /responses",
    "GET /responses/r%2F1?starting_after=1&stream=true",
    "GET /responses/r%2F1?starting_after=3&stream=true",
  ],
  chat: ["POST /chat/c%201", "GET /chat/c%201/stream", "GET /chat/c%201/stream"],
  post: ["POST /mcp", "GET /mcp after e1", "GET /mcp after e3"],
  watch: ["GET /watch/c%201", "GET /watch/c%201 after e1", "GET /watch/c%201 after e3"],
};

describe("a cut stream with `rejoin`", () => {
  it.each(WAYS)("goes on after each cut, with every message once: %s", async (way) => {
    const events: ConnectionEvent[] = [];
    const { asked, client } = await answering([
      { send: whole.slice(0, 2), cut: true },
      rest(way, 2, 4),
      { status: 503 },
      rest(way, 4),
    ]);
    const stream = open(client({ onConnection: (event) => events.push(event) }), way);
    expect(await all(stream)).toEqual(whole);
    expect(asked).toEqual([...requests[way], requests[way][2]]);
    const types = events.map(({ type }) => type);
    expect(types).toEqual(["lost", "rejoining", "joined", "lost", "rejoining", "rejoining", "joined", "ended"]);
    expect(new Set(events.map(({ call }) => call))).toEqual(new Set([`turns.${way}`]));
    expect(events.at(-1)).not.toHaveProperty("error");
  });

  it.each(WAYS)("has its whole text: %s", async (way) => {
    const { client } = await answering([{ send: whole.slice(0, 3), cut: true }, rest(way, 3)]);
    expect(await open(client(), way).text()).toBe("abcd");
  });

  it.each(WAYS)("begins anew where it was cut before its first message: %s", async (way) => {
    const { asked, client } = await answering([{ send: [], cut: true }, rest(way, 0)]);
    const reading = all(open(client(), way));
    // The id of a response is in its first message.
    if (way === "respond") return expect(reading).rejects.toMatchObject({ name: "Disconnected", code: "ended_early" });
    expect(await reading).toEqual(whole);
    expect(asked).toHaveLength(2);
  });

  it.each<[what: string, way: Way, answers: Answer[], read: number, error: object]>([
    ["has gone", "watch", [{ status: 410 }], 2, { code: "gap", missing: { after: 2 } }],
    ["is no longer worked on", "chat", [{ status: 204 }], 2, { code: "gap" }],
    ["is not known", "post", [{ status: 404 }], 2, { code: "ended_early", cause: { name: "Refusal", status: 404 } }],
    ["is forbidden", "post", [{ status: 403 }], 2, { name: "Refusal", status: 403 }],
    ["is shorter", "chat", [{ send: [whole[0]!, whole.at(-1)!].slice(1) }], 2, { code: "gap" }],
    [
      "lacks a number",
      "respond",
      [{ send: [whole[2]!, whole[4]!, whole[5]!] }],
      3,
      { code: "gap", missing: { after: 2, first: 4 } },
    ],
  ])("ends in a typed error where it %s", async (_, way, answers, read, error) => {
    const { client } = await answering([{ send: whole.slice(0, 2), cut: true }, ...answers]);
    const found: unknown[] = [];
    const reading = (async () => {
      for await (const message of open(client(), way)) found.push(message);
    })();
    await expect(reading).rejects.toMatchObject(error);
    expect(found).toEqual(whole.slice(0, read));
  });

  it.each(WAYS)("asks again for what came, and was lost before it was read: %s", async (way) => {
    let cut = () => {};
    const targets: string[] = [];
    const blocks = whole.map((one, i) => new TextEncoder().encode(`id: e${i}\ndata: ${JSON.stringify(one)}\n\n`));
    const fetch = async ({ url, headers }: Request) => {
      targets.push(`${new URL(url).search}${headers.get("last-event-id") ?? ""}`);
      const isFirst = targets.length === 1;
      const body = new ReadableStream({
        start(controller) {
          for (const block of isFirst || way === "chat" ? blocks : blocks.slice(1)) controller.enqueue(block);
          if (!isFirst) return controller.close();
          // Chunks that wait to be read are dropped with the error.
          cut = () => controller.error(new TypeError("cut"));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const client = connect(turns, { fetch: fetch as typeof globalThis.fetch, random: () => 0 });
    const found: unknown[] = [];
    for await (const message of open(client, way)) if (found.push(message) === 1) cut();
    expect(found).toEqual(whole);
    const place = { respond: "?starting_after=0&stream=true", chat: "", post: "e0", watch: "e0" };
    expect(targets).toEqual(["", place[way]]);
  });

  it("skips messages whose numbers were read", async () => {
    const { client } = await answering([{ send: whole.slice(0, 4), cut: true }, { send: whole.slice(1) }]);
    expect(await all(open(client(), "respond"))).toEqual(whole);
  });

  it.each<[what: string, options: object, withIds: boolean]>([
    ["resume is off", { resume: false }, true],
    ["its events have no ids", {}, false],
  ])("is not joined where %s", async (_, options, withIds) => {
    const { asked, client } = await answering([{ send: whole.slice(0, 2), cut: true }], withIds);
    await expect(all(open(client(options), "watch"))).rejects.toMatchObject({ code: "ended_early" });
    expect(asked).toHaveLength(1);
  });

  it("ends with its budget", async () => {
    const { client } = await answering([{ send: whole.slice(0, 2), cut: true }, ...Array(50).fill({ status: 503 })]);
    await expect(all(open(client({ reconnectFor: 250 }), "watch"))).rejects.toMatchObject({
      code: "ended_early",
      message: expect.stringContaining("not joined again"),
    });
  });

  it("ends when it is cancelled while it is joined", async () => {
    const stopped = new AbortController();
    const { asked, client } = await answering([
      { send: whole.slice(0, 2), cut: true },
      () => {
        stopped.abort();
        return { status: 503 };
      },
    ]);
    const reading = all(open(client(), "watch", { signal: stopped.signal }));
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    expect(asked).toHaveLength(2);
  });

  it.each(WAYS)("is resumed by our own server's header, if it offers that: %s", async (way) => {
    const app = serve(
      turns,
      Object.fromEntries(
        Object.keys(turns.operations).map((name) => [
          name,
          async function* () {
            if (name !== way) throw new Error("another operation");
            yield* whole;
          },
        ]),
      ),
    );
    closing.push(() => app.close());
    let cuts = 0;
    const fetch = async (request: Request) => {
      const answer = await app.fetch(request);
      if (cuts++ > 0) return answer;
      const bytes = answer.body!.getReader();
      const cut = new ReadableStream({
        async pull(controller) {
          const { value } = await bytes.read();
          controller.enqueue(value!.slice(0, 60));
          await bytes.cancel();
          controller.error(new TypeError("cut"));
        },
      });
      return new Response(cut, answer);
    };
    const client = connect(turns, { fetch: fetch as typeof globalThis.fetch, random: () => 0 });
    expect(await all(open(client, way))).toEqual(whole);
    expect(cuts).toBe(2);
  });
});

describe("the keyword rejoin", () => {
  it("passes lint", async () => {
    expect((await lint(folder())).map(({ message }) => message)).toEqual([]);
  });

  it.each<[rejoin: object, at: string, message: string]>([
    [{ operation: "retreive" }, "/operation", 'there is no operation retreive; did you mean "retrieve"?'],
    [{ operation: "post" }, "/operation", "is post, and only a GET with a stream can be sent again; name one"],
    [
      { operation: "retrieve" },
      "",
      'needs "input" with response_id, a parameter of retrieve that respond has none of the name for',
    ],
    [
      { operation: "listen", after: { starting: "/sequence_number" } },
      "/after/starting",
      "listen has no parameter starting",
    ],
    [
      {
        operation: "retrieve",
        input: { response_id: "/response/id" },
        after: { starting_after: "/sequence_number" },
        repeats: true,
      },
      "/repeats",
      'stands beside "after": a stream comes from its beginning, or from a place; leave one out',
    ],
    [{}, "", 'needs "operation"'],
  ])("is refused by lint where it cannot work: %j", async (rejoin, at, message) => {
    const findings = await lint(folder({ respond: rejoin }));
    expect(findings).toMatchObject([
      { pointer: `/operations/respond/answer/stream/rejoin${at}`, message: expect.stringContaining(message) },
    ]);
  });

  it.each<[was: object | undefined, is: object | undefined, breaks: string[]]>([
    [undefined, DEFAULT.chat, []],
    [DEFAULT.chat, undefined, ["client"]],
    [DEFAULT.chat, { operation: "reconnect" }, ["client"]],
    [DEFAULT.chat, DEFAULT.chat, []],
  ])("is compared: %j to %j", (chat, now, breaks) => {
    const changes = compat(assemble(folder({ chat })), assemble(folder({ chat: now })));
    expect(changes.flatMap((change) => [...change.breaks])).toEqual(breaks);
  });

  it("is in the documents", () => {
    const files = docs(assemble(folder()));
    const text = Object.values(files).join("\n");
    expect(text).toContain('"x-rejoin": {');
    expect(text).toContain("A stream that was cut is joined again by reconnect.");
    expect(text).toContain("A stream that was cut is joined again by `retrieve`.");
  });
});
