import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "@parlance/client";
import { compat } from "@parlance/language/compat";
import { docs } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { afterEach, describe, expect, it } from "vitest";
import { Conversations } from "../../../recordings/src/conversation.js";
import type { Entry } from "../../../recordings/src/recording.js";
import { type Finding, Verifier } from "../../../recordings/src/verify.js";

// A stream of lines of JSON, in the shape of Ollama's `/api/chat`: parts until one has `done: true`, or an error.

const string = { type: "string" };
const schema = (title: string, properties: object, required: string[], example: object) =>
  JSON.stringify({ title, description: title, type: "object", properties, required, examples: [example] });
const message = { type: "object", properties: { role: string, content: string }, required: ["role", "content"] };
const part = { model: "m", message: { role: "assistant", content: "He" }, done: false };
const last = { model: "m", message: { role: "assistant", content: "y" }, done: true };

function folder(stream: object = {}, tag: object = { in: "shape" }) {
  const contract = {
    format: 1,
    name: "ollama",
    title: "Ollama",
    url: "http://localhost:11434",
    tag,
    messages: {
      part: { schema: "messages/part.json", shape: { const: { done: false } } },
      last: { schema: "messages/last.json", shape: { const: { done: true } } },
      error: { schema: "messages/error.json", shape: { required: ["error"] }, fault: { text: ["/error"] } },
    },
    operations: {
      chat: {
        method: "POST",
        path: "/api/chat",
        summary: "Chat.",
        body: "messages/chat.json",
        answer: {
          status: 200,
          stream: {
            messages: ["part", "last", "error"],
            end: ["last", "error"],
            lines: "application/x-ndjson",
            fault: "error",
            ...stream,
          },
        },
      },
    },
    channels: {},
    fault: { schema: "messages/fault.json", text: ["/error"] },
  };
  const done = (value: boolean) => ({ model: string, message, done: { const: value } });
  return {
    name: "ollama",
    files: {
      "contract.json": JSON.stringify(contract),
      "messages/part.json": schema("Part", done(false), ["model", "message", "done"], part),
      "messages/last.json": schema("Last", done(true), ["model", "message", "done"], last),
      "messages/error.json": schema("ErrorMessage", { error: string }, ["error"], { error: "no" }),
      "messages/chat.json": schema("Chat", { model: string }, ["model"], { model: "m" }),
      "messages/fault.json": schema("FaultBody", { error: string }, ["error"], { error: "no" }),
    },
  };
}
const document = assemble(folder());
const ollama = contractValue(document);
const { done: _, ...fields } = part;
const { done: __, ...lastFields } = last;
const read = [
  { type: "part", ...fields },
  { type: "last", ...lastFields },
];

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function all(messages: AsyncIterable<unknown>): Promise<unknown[]> {
  const found = [];
  for await (const one of messages) found.push(one);
  return found;
}

/** A client of a server that writes these chunks. */
async function asking(chunks: readonly string[], type = "application/x-ndjson", options: object = {}) {
  const accepted: unknown[] = [];
  const server = createServer((request, response) => {
    accepted.push(request.headers.accept, request.headers["parlance-resume"]);
    response.writeHead(200, { "content-type": type });
    for (const chunk of chunks) response.write(chunk);
    response.end();
  }).listen(0, "127.0.0.1");
  closing.push(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return { client: connect(ollama, { baseUrl: `http://127.0.0.1:${port}`, ...options }), accepted };
}

const text = `${JSON.stringify(part)}\n${JSON.stringify(last)}\n`;

describe("a stream of lines of JSON", () => {
  it("is linted, and documented with its media type", async () => {
    expect(await lint(folder())).toEqual([]);
    expect(docs(document)["ollama.openapi.json"]).toContain('"application/x-ndjson"');
  });

  it("has no event names and no sentinel", async () => {
    const found = async (...change: Parameters<typeof folder>) =>
      (await lint(folder(...change))).filter(({ rule, pointer }) => rule === "tag" && pointer.includes("/stream/"));
    expect(await found({ sentinel: "[DONE]" })).toMatchObject([{ message: expect.stringContaining("lines are JSON") }]);
    expect(await found({}, { in: "event" })).toMatchObject([{ message: expect.stringContaining("no event names") }]);
  });

  it("is another form than events for compat", () => {
    const events = assemble(folder({ lines: undefined }));
    expect(compat(events, document).map(({ what }) => what)).toEqual([
      "the stream was text/event-stream and is lines of application/x-ndjson",
    ]);
  });

  it.each<[what: string, chunks: string[]]>([
    ["in one chunk", [text]],
    ["a character at a time", [...text]],
    ["with CRLF and blank lines", [text.replaceAll("\n", "\r\n\r\n")]],
    ["without the end of the last line", [text.trimEnd()]],
  ])("is read %s", async (_, chunks) => {
    const { client, accepted } = await asking(chunks);
    expect(await all(client.chat({ model: "m" }))).toEqual(read);
    expect(accepted).toEqual(["application/x-ndjson", undefined]);
  });

  it("is disconnected where it stops before its end, also within a line", async () => {
    for (const cut of [text.indexOf("\n") + 1, text.length - 5]) {
      const { client } = await asking([text.slice(0, cut)]);
      const stream = client.chat({ model: "m" });
      await expect(all(stream)).rejects.toMatchObject({ name: "Disconnected", code: "ended_early" });
    }
  });

  it.each<[what: string, chunks: string[], type: string | undefined, options: object, code: string]>([
    ["a line that is not JSON", ["nonsense\n"], undefined, {}, "malformed_json"],
    ["a line over the limit", [`{"a":"${"x".repeat(5000)}`], undefined, { maxMessageSize: 1000 }, "too_large"],
    ["another media type", [text], "text/event-stream", {}, "content_type"],
  ])("is a violation with %s", async (_, chunks, type, options, code) => {
    const { client } = await asking(chunks, type, options);
    await expect(all(client.chat({ model: "m" }))).rejects.toMatchObject({ name: "Violation", code });
  });

  it("is written by a server as lines, its failure too", async () => {
    let fails = false;
    const app = serve(
      ollama,
      {
        async *chat() {
          yield read[0]!;
          if (fails) throw new Error("no");
          yield read[1]!;
        },
      },
      { onError: () => {} },
    );
    closing.push(() => app.close());
    const ask = () =>
      app.fetch(
        new Request("http://localhost:11434/api/chat", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"model":"m"}',
        }),
      );
    const answer = await ask();
    expect(answer.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect((await answer.text()).split("\n").map((line) => line && JSON.parse(line))).toEqual([part, last, ""]);
    fails = true;
    const lines = (await (await ask()).text()).trim().split("\n");
    expect(lines.map((line) => Object.keys(JSON.parse(line)))).toEqual([expect.arrayContaining(["done"]), ["error"]]);
    fails = false;
    expect(await all(connect(ollama, { fetch: app.fetch as typeof fetch }).chat({ model: "m" }))).toEqual(read);
  });

  it.each<[what: string, body: string, findings: string[]]>([
    ["whole", text, []],
    ["cut", text.slice(0, -4), ["end chat stopped without last or error"]],
    [
      "with a flaw",
      text.replace('"m"', "7"),
      ["schema server: ollama: `model` must be string in the message part (from the server)"],
    ],
  ])("is verified %s", async (_, body, findings) => {
    const found: Finding[] = [];
    const verifier = new Verifier(new Conversations(ollama, await ollama.accepts()), (one) => found.push(one));
    verifier.header({ recording: 1 } as never);
    const json = [["content-type", "application/json"]];
    const entries = [
      { t: 0, c: 1, kind: "request", from: "client", method: "POST", target: "/api/chat", headers: json },
      { t: 0, c: 1, kind: "body", from: "client", text: '{"model":"m"}' },
      {
        t: 0,
        c: 1,
        kind: "response",
        from: "server",
        status: 200,
        headers: [["content-type", "application/x-ndjson"]],
      },
      { t: 0, c: 1, kind: "body", from: "server", text: body },
      { t: 0, c: 1, kind: "end", from: "server" },
    ] as unknown as Entry[];
    entries.forEach((entry, line) => {
      verifier.entry(entry, line + 1);
    });
    verifier.end(9, false);
    expect(found.map(({ rule, message }) => `${rule} ${message}`)).toEqual(findings);
  });
});
