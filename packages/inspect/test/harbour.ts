import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { onTestFinished } from "vitest";
import { bundlePage } from "../bundle.mjs";
import { type InspectOptions, inspect } from "../src/node.js";

// A contract that nobody ships, with a stream, a channel that asks, and a secret of its own.

const string = { type: "string" };
const object = (title: string, properties: Record<string, object>, required: string[], example: object) =>
  JSON.stringify({ title, description: `The ${title}.`, type: "object", required, properties, examples: [example] });

const kind = (name: string) => ({ kind: { const: name } });

export const files: Readonly<Record<string, string>> = {
  "contract.json": JSON.stringify({
    $schema: "../contract.schema.json",
    format: 1,
    name: "harbour",
    title: "Harbour",
    url: "http://localhost:1",
    tag: { in: "property", property: "kind" },
    messages: {
      word: { schema: "messages/word.json" },
      over: { schema: "messages/over.json" },
      hail: { schema: "messages/hail.json" },
      mayEnter: { schema: "messages/may-enter.json" },
      yes: { schema: "messages/yes.json" },
    },
    operations: {
      say: {
        method: "POST",
        path: "/say/{ship}",
        summary: "Say something to the harbour.",
        parameters: { ship: { in: "path", type: "string" }, ticket: { in: "query", type: "string" } },
        body: "messages/say.json",
        answer: {
          status: 200,
          stream: { messages: ["word", "over"], end: ["over"], text: { append: { word: "text" } } },
        },
      },
    },
    channels: {
      radio: {
        path: "/radio/{ship}",
        summary: "Talk to the pilot.",
        parameters: { ship: { in: "path", type: "string" } },
        client: ["hail", "yes"],
        server: ["mayEnter", "word"],
      },
    },
    exchanges: [{ ask: "mayEnter", by: "server", key: "berth", answers: [{ message: "yes", key: "of" }] }],
    fault: { schema: "messages/fault.json", text: ["/problem"] },
  }),
  "messages/say.json": object(
    "SayBody",
    { text: { ...string, description: "The words." }, harbour_pass: { ...string, "x-secret": true } },
    ["text"],
    { text: "hello" },
  ),
  "messages/word.json": object(
    "WordMessage",
    { ...kind("word"), text: { ...string, description: "A piece of the answer." } },
    ["kind", "text"],
    { kind: "word", text: "moored" },
  ),
  "messages/over.json": object("OverMessage", kind("over"), ["kind"], { kind: "over" }),
  "messages/hail.json": object("HailMessage", { ...kind("hail"), name: string }, ["kind", "name"], {
    kind: "hail",
    name: "Otter",
  }),
  "messages/may-enter.json": object(
    "MayEnterMessage",
    { ...kind("mayEnter"), berth: { type: "integer" } },
    ["kind", "berth"],
    {
      kind: "mayEnter",
      berth: 4,
    },
  ),
  "messages/yes.json": object(
    "YesMessage",
    { ...kind("yes"), of: { type: "integer" }, allowed: { type: "boolean" } },
    ["kind", "of", "allowed"],
    { kind: "yes", of: 4, allowed: true },
  ),
  "messages/fault.json": object("FaultBody", { problem: string }, ["problem"], { problem: "no such ship" }),
};

export const document = assemble({ name: "harbour", files });
export const contract = contractValue(document);

/** What the harbour's server writes for a text: as the test has it. */
export type Words = (input: { ship: string; text: string }) => AsyncIterable<object>;

const echo: Words = async function* ({ text }) {
  yield { type: "word", text };
  yield { type: "over" };
};

export async function temporary(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "parlance-inspect-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** The page, built once for the tests of a process. */
let built: Promise<string> | undefined;
export function builtPage(): Promise<string> {
  built ??= (async () => {
    const path = await mkdtemp(join(tmpdir(), "parlance-page-"));
    process.on("exit", () => void rm(path, { recursive: true, force: true }));
    await bundlePage(path);
    return path;
  })();
  return built;
}

/** The harbour's server on a port; what its channel got, in order. */
export async function harbour(say: Words = echo) {
  const got: unknown[] = [];
  const app = serve(contract, {
    say,
    async radio(_: object, channel: { ask(message: object): Promise<object> } & AsyncIterable<object>) {
      for await (const message of channel) {
        got.push(message);
        got.push(await channel.ask({ type: "mayEnter", berth: 7 }));
      }
    },
  });
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return { url: server.url, got };
}

/** An inspector before the harbour's server. */
export async function inspected(options: Partial<InspectOptions> & { readonly say?: Words } = {}) {
  const { say, ...own } = options;
  const server = await harbour(say);
  const inspector = await inspect({ contract, document, target: server.url, page: await builtPage(), ...own });
  onTestFinished(() => inspector.close());
  const { origin, hash } = new URL(inspector.url);
  const headers = { Authorization: `Bearer ${new URLSearchParams(hash.slice(1)).get("token")}` };
  const client = (more: Record<string, string> = {}) =>
    connect(contract, { baseUrl: inspector.proxy!, headers: more, retryWaits: [], webSocket, resume: false });
  return {
    ...server,
    page: inspector.url,
    proxy: inspector.proxy!,
    origin,
    headers,
    client,
    get: (path: string) => fetch(origin + path, { headers }),
    post: async (path: string, body: object) => {
      const response = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
      return JSON.parse(await response.text());
    },
    rows: (until: (rows: readonly FedRow[]) => boolean, log = "live") => rowsOf(origin, headers, log, until),
  };
}

export interface FedRow {
  readonly n: number;
  readonly c: number;
  readonly kind: string;
  readonly from: string;
  readonly text: string;
  readonly [name: string]: unknown;
}

/** Reads a feed until what came is enough. */
async function rowsOf(
  origin: string,
  headers: Record<string, string>,
  log: string,
  until: (rows: readonly FedRow[]) => boolean,
): Promise<FedRow[]> {
  const stop = new AbortController();
  const response = await fetch(`${origin}/api/feed?log=${log}`, { headers, signal: stop.signal });
  const rows: FedRow[] = [];
  let rest = "";
  try {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream() as never) as AsyncIterable<string>) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const { row } = JSON.parse(line);
        if (row) rows.push(row);
      }
      if (until(rows)) return rows;
    }
  } finally {
    stop.abort();
  }
  return rows;
}

export const ended = (rows: readonly FedRow[]) => rows.some(({ kind: one }) => one === "end" || one === "error");
