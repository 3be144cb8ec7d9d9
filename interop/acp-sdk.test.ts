import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { connect } from "@parlance/client";
import { program, webSocket } from "@parlance/client/node";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { agentHandlers, editorHandlers } from "./agents/handlers.js";
import { acp, official, officialApp, officialPeer, ourHandlers, ourPeer, type Peer } from "./agents/peer.js";
import { type Json, methods } from "./agents/samples.js";

// Parlance's client with an agent of the official SDK, and its client with an agent of Parlance's, over each carrier.

const script = fileURLToPath(new URL("agents/on-stdio.ts", import.meta.url));
const args = (who: string) => ["--import", "tsx", script, who];
const violations: Error[] = [];

/** What closes the agents and editors of one table of tests. */
const closing: (() => unknown)[] = [];

/** The address of an agent's WebSocket. */
async function serving(who: string): Promise<string> {
  if (who === "ours") {
    const app = serve(acp, { acp: ourHandlers(agentHandlers()) }, { partial: true });
    const { url, close } = await listen(app, { port: 0 });
    closing.push(() => close());
    return url;
  }
  const server = new AcpServer({
    createAgent: () => officialApp(official.agent({ name: "official" }), agentHandlers()),
  });
  const http = createServer(createNodeHttpHandler(server));
  http.on("upgrade", createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true }) as never));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    await server.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

interface Joined {
  readonly agent: Peer;
  /** The notifications that the editor got. */
  readonly noted: [method: string, params: Json][];
}

async function ourEditor(carrier: string): Promise<Joined> {
  const noted: [string, Json][] = [];
  const handlers = ourHandlers(editorHandlers((...one) => noted.push(one)));
  const onViolation = (violation: Error) => void violations.push(violation);
  const over =
    carrier === "stdio"
      ? program(process.execPath, args("official"))
      : { baseUrl: await serving("official"), webSocket };
  const channel = await connect(acp, { ...over, onViolation }).acp(handlers);
  closing.unshift(() => channel.close());
  return { agent: ourPeer(channel), noted };
}

async function officialEditor(carrier: string): Promise<Joined> {
  const noted: [string, Json][] = [];
  const app = officialApp(
    official.client({ name: "official" }),
    editorHandlers((...one) => noted.push(one)),
  );
  const { agent, close } = carrier === "stdio" ? overProgram(app) : overSocket(app, await serving("ours"));
  closing.unshift(close);
  return { agent: officialPeer(agent), noted };
}

function overSocket(app: official.ClientApp, url: string) {
  const connection = app.connect(
    createWebSocketStream(`${url.replace("http", "ws")}/acp`, { WebSocket: WebSocket as never }) as official.Stream,
  );
  return { agent: connection.agent, close: () => connection.close() };
}

function overProgram(app: official.ClientApp) {
  const child = spawn(process.execPath, args("ours"), { stdio: ["pipe", "pipe", "inherit"] });
  const stream = official.ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const connection = app.connect(stream);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    agent: connection.agent,
    async close() {
      connection.close();
      child.stdin.end();
      await ended;
    },
  };
}

const ours = "Parlance's editor and an official agent";
const theirs = "an official editor and Parlance's agent";

describe.each([
  [ours, "stdio", ourEditor],
  [ours, "WebSocket", ourEditor],
  [theirs, "stdio", officialEditor],
  [theirs, "WebSocket", officialEditor],
] as const)("%s over %s", (who, carrier, join) => {
  const order = (one: object, sessionId = "s") => ({
    sessionId,
    prompt: [{ type: "text", text: JSON.stringify(one) }],
  });
  const own = methods();
  const given = (side: "agent" | "client") =>
    own.filter(({ on, results, name }) => on === side && results && !["initialize", "session/prompt"].includes(name));

  let agent: Peer;
  let noted: Joined["noted"];

  beforeAll(async () => {
    ({ agent, noted } = await join(carrier));
    const { params, results } = own.find(({ name }) => name === "initialize")!;
    const { _meta, ...result } = await agent.call("initialize", params[0]);
    expect(_meta.given).toEqual(params[0]);
    expect(results!.map(withoutMeta)).toContainEqual(result);
  });

  beforeEach(() => void noted.splice(0));

  afterAll(async () => {
    for (const close of closing.splice(0)) await close();
    expect(violations).toEqual([]);
  });

  it("carry each request of the editor and its result, with every property", async () => {
    for (const { name, params, results } of given("agent"))
      for (let at = 0; at < Math.max(params.length, results!.length); at++) {
        const sent = params[at % params.length];
        const { _meta, ...result } = await agent.call(name, sent);
        expect(_meta.given, name).toEqual(sent);
        expect(results!.map(withoutMeta), name).toContainEqual(result);
      }
  });

  it("carry each request of the agent and its result, with every property", async () => {
    for (const { name, params, results } of given("client"))
      for (let at = 0; at < Math.max(params.length, results!.length); at++) {
        const sent = params[at % params.length];
        const { _meta } = await agent.call("session/prompt", order({ call: name, params: sent }));
        const { _meta: back, ...result } = _meta.came;
        expect(back?.given, `${name} ${JSON.stringify(_meta.came)}`).toEqual(sent);
        expect(results!.map(withoutMeta), name).toContainEqual(result);
      }
  });

  it("carry each kind of update, in order, and a notification", async () => {
    const updates = own.find(({ name }) => name === "session/update")!.params.map(({ update }) => update);
    const complete = { elicitationId: "e" };
    await agent.call("session/prompt", order({ updates, notify: "elicitation/complete", params: complete }));
    await expect.poll(() => noted.length).toBe(updates.length + 1);
    expect(noted.slice(0, -1).map(([, { update }]) => update)).toEqual(updates);
    expect(noted.at(-1)).toEqual(["elicitation/complete", complete]);
  });

  it("end a turn that session/cancel stops as cancelled", async () => {
    const turn = agent.call("session/prompt", order({ wait: true }));
    await expect.poll(() => noted.length).toBe(1);
    await agent.notify("session/cancel", { sessionId: "s" });
    expect(await turn).toEqual({ stopReason: "cancelled" });
  });

  it("end a request that its signal cancels", async () => {
    const abort = new AbortController();
    const turn = agent.call("session/prompt", order({ wait: true }), abort.signal);
    await expect.poll(() => noted.length).toBe(1);
    abort.abort();
    expect(await turn).toEqual({ stopReason: "cancelled" });
  });

  it.each([
    { code: -32000, message: "Sign in first." },
    { code: -32002, message: "There is no such file.", data: { path: "/a" } },
    { code: -32602, message: "No.", data: { flaws: [] } },
    { code: -32603, message: "It broke." },
    { code: 1234, message: "An own code.", data: ["a"] },
  ])("carry the error $code of either side", async (error) => {
    await expect(agent.call("session/prompt", order({ fail: error }))).rejects.toMatchObject(error);
  });

  it("refuse params that break the schema, and unknown methods, and go on", async () => {
    await expect(agent.call("session/set_mode", { sessionId: 5 })).rejects.toMatchObject({ code: -32602 });
    await expect(agent.call("_parlance/none", {})).rejects.toMatchObject({ code: -32601 });
    const refused = async (call: string, params: object) =>
      (await agent.call("session/prompt", order({ call, params })))._meta.came;
    expect(await refused("fs/read_text_file", { sessionId: "s", path: 5 })).toMatchObject({
      // Parlance's server does not send what breaks the contract.
      code: who === ours ? -32602 : "schema",
    });
    if (who === ours) expect(violations.splice(0)).toMatchObject([{ code: "schema", flaws: [{ at: "/params/path" }] }]);
    expect(await refused("_parlance/none", {})).toMatchObject({ code: -32601 });
    expect(await agent.call("_parlance/echo", { a: 1 })).toEqual({ a: 1 });
  });

  it("carry extensions in both directions", async () => {
    expect(await agent.call("_parlance/echo", { a: { b: [null] } })).toEqual({ a: { b: [null] } });
    await agent.notify("_parlance/notice", { first: 1 });
    expect(await agent.call("_parlance/notices", {})).toEqual({ notices: [{ first: 1 }] });
    const { _meta } = await agent.call("session/prompt", order({ call: "_parlance/echo", params: { c: 2 } }));
    expect(_meta.came).toEqual({ c: 2 });
    await agent.call("session/prompt", order({ notify: "_parlance/notice", params: { second: 2 } }));
    // The official SDK calls handlers of notifications later than it settles requests.
    await expect.poll(() => noted).toEqual([["_parlance/notice", { second: 2 }]]);
  });

  it("hold two sessions at once, each with its own updates", async () => {
    const waits = agent.call("session/prompt", order({ wait: true }, "one"));
    await expect.poll(() => noted.length).toBe(1);
    expect(await agent.call("session/prompt", order({ count: 50 }, "two"))).toMatchObject({ stopReason: "end_turn" });
    await agent.notify("session/cancel", { sessionId: "one" });
    expect(await waits).toEqual({ stopReason: "cancelled" });
    await expect.poll(() => noted.length).toBe(51);
    const texts = (session: string) =>
      noted.flatMap(([, { sessionId, update }]) => (sessionId === session ? [update.content.text] : []));
    expect(texts("one")).toEqual(["waiting"]);
    expect(texts("two")).toEqual(Array.from({ length: 50 }, (_, at) => String(at)));
  });
});

const withoutMeta = ({ _meta, ...rest }: Json) => rest;
