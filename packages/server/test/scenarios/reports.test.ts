import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { expect, it, vi } from "vitest";

// What no peer is shown is reported to `console.error` by default: once, with its place and the error.

const bug = new Error("bug");
const fails = (): never => {
  throw bug;
};
const fold = (handlers: object = {}, options: ServeOptions = {}) =>
  serve(
    foldGateway,
    { health: () => "OK", listAgents: () => [], send: words, ...handlers },
    { ...options, partial: true },
  );
async function* words() {
  yield { type: "text" as const, text: "x" };
  yield { type: "done" as const, full_response: "x" };
}
const health = (app: App) => connect(foldGateway, { fetch: app.fetch }).health();
const send = (app: App, options: ConnectOptions = {}) =>
  connect(foldGateway, { fetch: app.fetch, reconnectFor: 1, ...options })
    .send({ content: "x" })
    .text();
const converse = async (app: App) => {
  const session = await connect(based, { ...app, resume: false }).session();
  for await (const _ of session);
};
const from = (header: "origin" | "host") => async (app: App) => {
  for (let i = 0; i < 2; i++)
    await app.fetch(
      new Request("http://localhost/health", {
        headers: { [header]: header === "host" ? "evil.example" : "http://evil.example" },
      }),
    );
};

const REFUSED: unknown = expect.objectContaining({ status: 403 });
const LOG: unknown = expect.objectContaining({ name: "Disconnected", message: "the event log failed", cause: bug });
it.each<[what: string, make: () => App, run: (app: App) => Promise<unknown>, place: string, error?: unknown]>([
  ["an operation's bug", () => fold({ health: fails }), health, "a call of health"],
  ["a stream's bug before its first message", () => fold({ send: fails }), send, "a call of send"],
  [
    "a stream's bug after a message",
    () =>
      fold({
        async *send() {
          yield { type: "text", text: "x" };
          fails();
        },
      }),
    send,
    "handler of send",
  ],
  ["a channel's bug", () => serve(based, { session: fails }), converse, "handler of session"],
  ["hooks.open", () => fold({}, { hooks: { open: fails } }), send, "hooks.open of send"],
  ["hooks.close", () => fold({}, { hooks: { close: async () => fails() } }), send, "hooks.close of send"],
  ["authenticate", () => fold({}, { authenticate: fails }), health, "a call of health"],
  ["hooks.request", () => fold({}, { hooks: { request: fails } }), health, "a call of health"],
  ["a refused origin, twice", fold, from("origin"), "the guard of Host and Origin", REFUSED],
  ["a refused host, twice", fold, from("host"), "the guard of Host and Origin", REFUSED],
  [
    "a log that cannot open a stream",
    () => fold({}, { log: { ...memoryLog(), open: fails } }),
    send,
    "a call of send",
    LOG,
  ],
  [
    "pub/sub that cannot publish",
    () =>
      fold(
        {},
        { cluster: clusterOn({ ...memoryPubSub(), publish: async () => fails(), subscribe: async () => fails() }) },
      ),
    send,
    "pub/sub",
  ],
])("%s is reported once, with its place", async (_, make, run, place, error = bug) => {
  const reported: unknown[][] = [];
  const spy = vi.spyOn(console, "error").mockImplementation((...values) => void reported.push(values));
  try {
    await run(make()).catch(() => {});
    await vi.waitFor(() => expect(reported.length).toBeGreaterThan(0));
    await new Promise((resolve) => setImmediate(resolve));
    expect(reported).toEqual([[expect.stringContaining(`@parlance/server: ${place}`), error]]);
  } finally {
    spy.mockRestore();
  }
});
