import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "@parlance/client";
import { runCases } from "@parlance/conformance/node";
import { compat } from "@parlance/language/compat";
import { docs, generate } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { type Done, serve } from "@parlance/server";
import { double } from "@parlance/server/testing";
import type { AnyContract, ConnectionEvent } from "@parlance/wire";
import { afterEach, describe, expect, it } from "vitest";
import { caller } from "../../../../examples/conformance/caller.js";
import { listenFixture } from "../../../../examples/conformance/fixture.js";
import { suiteOf } from "../../../conformance/src/cases.js";
import { Conversations } from "../../../recordings/src/conversation.js";
import type { Entry } from "../../../recordings/src/recording.js";
import { type Finding, Verifier } from "../../../recordings/src/verify.js";
import { schema, string } from "./message-files.js";

// Answers without a body beside the usual one: 204 of the AI SDK's `reconnect`, 202 of MCP's notifications, 204 of a cache.

const id = { id: { in: "path", type: "string" } };

function folder(change: (operations: Record<string, { answer: Record<string, unknown> }>) => void = () => {}) {
  const operation = (path: string, answer: object, method = "GET") => ({
    method,
    path: `/${path}/{id}`,
    summary: `The ${path}.`,
    parameters: id,
    answer: { status: 200, ...answer } as Record<string, unknown>,
  });
  const stream = { messages: ["text", "done", "error"], end: ["done", "error"], fault: "error" };
  const operations = {
    job: operation("job", { none: 202, json: "messages/job.json" }, "POST"),
    note: operation("note", { none: 204, text: "text/plain", examples: ["a"] }),
    file: operation("file", { none: 204, binary: "image/png" }),
    cached: operation("cached", { none: 204, json: "messages/job.json", headers: { ETag: { type: "string" } } }),
    turn: operation("turn", { none: 204, stream }),
    lines: operation("lines", { none: 204, stream: { ...stream, lines: "application/x-ndjson" } }),
    headed: operation("headed", { none: 204, stream, headers: { "X-Turn": { type: "string", required: true } } }),
  };
  change(operations);
  const contract = {
    format: 1,
    name: "jobs",
    title: "Jobs",
    url: "http://localhost:1",
    tag: { in: "property", property: "type" },
    messages: {
      text: { schema: "messages/text.json" },
      done: { schema: "messages/done.json" },
      error: { schema: "messages/error.json", fault: { text: ["/error"] } },
    },
    operations,
    channels: {},
    fault: { schema: "messages/fault.json", text: ["/error"] },
  };
  return {
    name: "jobs",
    files: {
      "contract.json": JSON.stringify(contract),
      "messages/job.json": schema("Job", { state: string }, { state: "done" }),
      "messages/text.json": schema(
        "TextMessage",
        { type: { const: "text" }, text: string },
        { type: "text", text: "a" },
      ),
      "messages/done.json": schema("DoneMessage", { type: { const: "done" } }, { type: "done" }),
      "messages/error.json": schema(
        "ErrorMessage",
        { type: { const: "error" }, error: string },
        { type: "error", error: "no" },
      ),
      "messages/fault.json": schema("FaultBody", { error: string }, { error: "no" }),
    },
  };
}

const document = assemble(folder());
const jobs = contractValue(document);
const calls = ["job", "note", "file", "cached"] as const;
const streams = ["turn", "lines", "headed"] as const;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server that answers every request with a status and nothing else. */
async function answering(status: number, options = {}) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status).end();
  }).listen(0, "127.0.0.1");
  closing.push(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  return connect(jobs, { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...options });
}

async function all(messages: AsyncIterable<unknown>): Promise<unknown[]> {
  const found = [];
  for await (const message of messages) found.push(message);
  return found;
}

const statusOf = (name: string) => jobs.operations[name]!.answer.none!;

/** Handlers that have nothing to answer, or something. */
function served(isEmpty: boolean, done: (done: Done & { operation: string }) => void = () => {}) {
  async function* messages() {
    if (isEmpty) return;
    yield { type: "text", text: "a" };
    yield { type: "done" };
  }
  const app = serve(
    jobs,
    {
      job: () => (isEmpty ? undefined : { state: "done" }),
      note: () => (isEmpty ? undefined : "a"),
      file: () => (isEmpty ? undefined : new Uint8Array([1])),
      cached: () => (isEmpty ? undefined : { headers: { ETag: "1" }, body: { state: "done" } }),
      turn: messages,
      lines: messages,
      // biome-ignore lint/suspicious/noExplicitAny: the contract was made at run time
      async *headed(_: object, call: any) {
        call.headers({ "X-Turn": "1" });
        yield* messages();
      },
    },
    { hooks: { done: ({ operation }, how) => done({ ...how, operation }) } },
  );
  closing.push(() => app.close());
  return app;
}

describe("an answer without a body", () => {
  it.each(calls)("is the result undefined of %s from a plain server", async (name) => {
    const client = await answering(statusOf(name));
    expect(await client[name]({ id: "1" })).toBeUndefined();
  });

  it.each(calls)("is a violation of %s with another status", async (name) => {
    const client = await answering(statusOf(name) + 1);
    await expect(client[name]({ id: "1" })).rejects.toMatchObject({ name: "Violation", code: "content_type" });
  });

  it.each(streams)("is a stream %s with no messages from a plain server", async (name) => {
    const events: ConnectionEvent[] = [];
    const onConnection = (event: ConnectionEvent) => events.push(event);
    for (const reopen of [false, true]) {
      const stream = (await answering(204))[name]({ id: "1" }, { onConnection, reopen });
      expect(await stream.opened).toEqual({ status: 204 });
      expect(await all(stream)).toEqual([]);
      expect(await stream.failure()).toBeUndefined();
    }
    expect(events).toEqual([1, 2].map(() => ({ call: `jobs.${name}`, type: "ended" })));
  });

  it.each(streams)("is a violation of the stream %s with another status", async (name) => {
    const stream = (await answering(205))[name]({ id: "1" });
    await expect(stream.opened).rejects.toMatchObject({ name: "Violation", code: "content_type" });
    await expect(all(stream)).rejects.toMatchObject({ name: "Violation" });
  });

  it.each([...calls, ...streams])("is written by a server whose handler of %s has nothing", async (name) => {
    const done: object[] = [];
    const app = served(true, ({ operation, status }) => done.push({ operation, status }));
    const { method } = jobs.operations[name]!;
    const answer = await app.fetch(new Request(`http://localhost:1/${name}/1`, { method }));
    expect([answer.status, await answer.text()]).toEqual([statusOf(name), ""]);
    expect(done).toEqual([{ operation: name, status: statusOf(name) }]);
  });

  it.each(calls)("is read by a client of our server, and so is the body of %s", async (name) => {
    const ask = async (isEmpty: boolean) =>
      connect(jobs, { fetch: served(isEmpty).fetch as typeof fetch })[name]({ id: "1" });
    expect(await ask(true)).toBeUndefined();
    expect(await ask(false)).toBeDefined();
  });

  it.each(streams)(
    "is read by a client of our server, resumable or not, and so are the messages of %s",
    async (name) => {
      for (const resume of [true, false]) {
        const ask = (isEmpty: boolean) =>
          connect(jobs, { fetch: served(isEmpty).fetch as typeof fetch, resume })[name]({ id: "1" });
        const empty = ask(true);
        expect([await empty.opened, await all(empty)]).toEqual([{ status: 204 }, []]);
        const full = ask(false);
        const headers = name === "headed" && { headers: { "X-Turn": "1" } };
        expect(await full.opened).toEqual({ status: 200, ...headers });
        expect(await all(full)).toEqual([{ type: "text", text: "a" }, { type: "done" }]);
      }
    },
  );

  it("is not what a double answers", async () => {
    const twin = double(jobs as AnyContract as never);
    closing.push(() => twin.close());
    // biome-ignore lint/suspicious/noExplicitAny: the contract was made at run time
    const client: any = connect(jobs, { fetch: twin.fetch as typeof fetch });
    expect(await client.job({ id: "1" })).toEqual({ state: "done" });
    expect(await client.turn({ id: "1" }).opened).toEqual({ status: 200 });
  });

  it.each<[what: string, name: string, status: number, body: string, findings: string[]]>([
    ["declared", "turn", 204, "", []],
    ["declared of lines", "lines", 204, "", []],
    ["declared of an operation", "job", 202, "", []],
    ["not declared", "job", 204, "", ["status job answers 200 or 202, not 204"]],
    ["with a body", "job", 202, "{}", ["schema server: job is answered with 202 and a body, and has none"]],
  ])("is verified %s", async (_, name, status, body, findings) => {
    const found: Finding[] = [];
    const verifier = new Verifier(new Conversations(jobs, await jobs.accepts()), (one) => found.push(one));
    verifier.header({ recording: 1 } as never);
    const { method } = jobs.operations[name]!;
    const entries = [
      { t: 0, c: 1, kind: "request", from: "client", method, target: `/${name}/1`, headers: [] },
      { t: 0, c: 1, kind: "response", from: "server", status, headers: [] },
      ...(body ? [{ t: 0, c: 1, kind: "body", from: "server", text: body }] : []),
      { t: 0, c: 1, kind: "end", from: "server" },
    ] as unknown as Entry[];
    entries.forEach((entry, line) => {
      verifier.entry(entry, line + 1);
    });
    verifier.end(9, false);
    expect(found.map(({ rule, message }) => `${rule} ${message}`)).toEqual(findings);
  });

  it("has a case of conformance for servers and clients, which ours pass", async () => {
    const suite = await suiteOf(document, contractValue);
    const cases = [...suite.server, ...suite.client].filter(({ id }) => id.endsWith("/none"));
    expect(cases).toHaveLength(14);
    const server = await listenFixture(jobs as AnyContract);
    closing.push(() => server.close());
    const results = await runCases(suite, cases, { server, client: caller(jobs as AnyContract) });
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  });
});

describe("the keyword none", () => {
  it("is typed for clients and handlers", async () => {
    const text = (await generate(document))["jobs.ts"]!;
    expect(text).toContain("job(input: JobInput, options?: CallOptions): Promise<Job | undefined>;");
    expect(text).toContain("job(input: JobInput, call: Call): Job | undefined | Promise<Job | undefined>;");
    expect(text).toContain("): Promise<ReadableStream<Uint8Array> | undefined>;");
    expect(text).toContain("): Promise<{ headers: CachedHeaders; body: Job } | undefined>;");
    expect(text).toContain("): MessageStream<TurnMessage, { status: 200 } | { status: 204 }>;");
    expect(text).toContain(
      "): MessageStream<HeadedMessage, { status: 200; headers: HeadedHeaders } | { status: 204 }>;",
    );
  });

  it("is in the documents", () => {
    const { openapi, asyncapi, markdown } = Object.fromEntries(
      Object.entries(docs(document)).map(([file, text]) => [
        /openapi|asyncapi|md$/.exec(file)![0].replace("md", "markdown"),
        text,
      ]),
    );
    expect(JSON.parse(openapi!).paths["/job/{id}"].post.responses["202"]).toEqual({ description: "There is no body." });
    expect(asyncapi).toContain("The status 204 is an answer with no messages.");
    expect(markdown).toContain("Answers 202 with no body, instead.");
  });

  it.each<[name: string, answer: object, message: string]>([
    ["job", { none: 200 }, "is the status of the answer with a body"],
    ["job", { json: undefined }, "stands on an answer that has no body in any case"],
    ["turn", { stream: { messages: ["text"], closedBy: "job" } }, "stands on a stream that job ends"],
    ["job", { none: 404 }, "404"],
  ])("is refused by lint where it cannot work: %s %j", async (name, answer, message) => {
    const findings = await lint(folder((operations) => Object.assign(operations[name]!.answer, answer)));
    expect(findings.filter(({ rule }) => rule === "answer" || rule === "form")).toMatchObject([
      { pointer: `/operations/${name}/answer/none`, message: expect.stringContaining(message) },
    ]);
  });

  it("passes lint", async () => {
    expect((await lint(folder())).filter(({ severity }) => severity !== "warning")).toEqual([]);
  });

  it.each<[was: number | undefined, is: number | undefined, breaks: string[]]>([
    [undefined, 202, ["client", "source"]],
    [202, undefined, ["source"]],
    [202, 204, ["client", "source"]],
    [202, 202, []],
  ])("is compared: %s to %s", (was, is, breaks) => {
    const [old, now] = [was, is].map((none) =>
      assemble(folder(({ job }) => Object.assign(job!.answer, { none: none as unknown }))),
    );
    const changes = compat(old!, now!);
    expect([...new Set(changes.flatMap((change) => [...change.breaks]))].sort()).toEqual(breaks);
  });
});
