/**
 * 60,000 updates of a turn of ACP as lines of bytes, 64 KiB a read, beside JSON.parse of the same lines: Parlance's client, by the loop over the call and
 * by a handler, and that of the official SDK. Ratios of processor time. `tsx interop/bench/acp.ts [--quick]`.
 */
import { PassThrough, Readable, Writable } from "node:stream";
import * as official from "@agentclientprotocol/sdk";
import { connect, type OpenSocket } from "@parlance/client";
import { acp } from "@parlance/protocols/acp";
import type { PortEvents } from "@parlance/wire";
import { row } from "../../packages/server/bench/row.js";

const UPDATES = 60_000;
const ROUNDS = process.argv.includes("--quick") ? 3 : 11;
const CHUNK = 64 * 1024;
const SESSION = "s";

/** Texts, and in ten a change of a file. */
const updateOf = (i: number) =>
  i % 10 > 0
    ? {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: `the ${i}th piece of an answer of some length` },
      }
    : {
        sessionUpdate: "tool_call_update",
        toolCallId: "call",
        status: "in_progress",
        content: [{ type: "diff", path: "/a/b.ts", oldText: "a\nb\nc\n", newText: "a\nB\nc\n" }],
      };
const lines = Array.from({ length: UPDATES }, (_, i) =>
  JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: SESSION, update: updateOf(i) } }),
);
const bytes = Buffer.from(`${lines.join("\n")}\n`);
const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_, i) =>
  bytes.subarray(i * CHUNK, (i + 1) * CHUNK),
);

/** The lines of the updates, a chunk a turn of the event loop as a pipe gives them, and the end of the turn. */
async function deliver(asked: string, onLine: (line: string) => void): Promise<void> {
  let rest = "";
  for (const chunk of chunks) {
    const read = (rest + chunk.toString()).split("\n");
    rest = read.pop()!;
    for (const line of read) onLine(line);
    await new Promise(setImmediate);
  }
  onLine(endOf(asked));
}

function endOf(asked: string): string {
  const { id } = JSON.parse(asked) as { readonly id?: unknown };
  return JSON.stringify({ jsonrpc: "2.0", id, result: { stopReason: "end_turn" } });
}

async function bare(): Promise<number> {
  let updates = 0;
  await deliver("{}", (line) => {
    if ((JSON.parse(line) as { readonly params?: object }).params) updates++;
  });
  return updates;
}

/** Parlance's client over a port that gives it the lines. */
function open(onUpdate?: () => void) {
  const webSocket: OpenSocket = async () => {
    let on!: PortEvents;
    return {
      send: (text) => void setImmediate(() => deliver(text, on.frame)),
      close: (code, reason) => on.close(code, reason),
      listen(events) {
        on = events;
      },
    };
  };
  return connect(acp, { baseUrl: "http://localhost", resume: false, maxQueued: 1 << 30, webSocket }).acp({
    "session/request_permission": () => ({ outcome: { outcome: "cancelled" } }),
    ...(onUpdate && { "session/update": onUpdate }),
  });
}

async function loop(): Promise<number> {
  let updates = 0;
  const editor = await open();
  for await (const _ of editor.call("session/prompt", { sessionId: SESSION, prompt: [] })) updates++;
  await editor.close();
  return updates;
}

async function handler(): Promise<number> {
  let updates = 0;
  const editor = await open(() => void updates++);
  await editor.call("session/prompt", { sessionId: SESSION, prompt: [] });
  await editor.close();
  return updates;
}

async function sdk(): Promise<number> {
  let updates = 0;
  const input = new PassThrough({ highWaterMark: 1 << 20 });
  const output = new Writable({
    write(text, _, done) {
      done();
      setImmediate(async () => {
        for (const chunk of chunks) {
          input.write(chunk);
          await new Promise(setImmediate);
        }
        input.write(`${endOf(String(text))}\n`);
      });
    },
  });
  const stream = official.ndJsonStream(
    Writable.toWeb(output) as WritableStream<Uint8Array>,
    Readable.toWeb(input) as ReadableStream<Uint8Array>,
  );
  const app = official.client({ name: "bench" }).onNotification("session/update", () => void updates++);
  await app.connectWith(stream, (context) => context.request("session/prompt", { sessionId: SESSION, prompt: [] }));
  return updates;
}

const readers: Readonly<Record<string, () => Promise<number>>> = {
  bare,
  "parlance, loop": loop,
  "parlance, handler": handler,
  "@agentclientprotocol/sdk": sdk,
};
const times: Readonly<Record<string, number[]>> = Object.fromEntries(Object.keys(readers).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round++)
  for (const [name, read] of Object.entries(readers)) {
    const start = process.cpuUsage();
    const updates = await read();
    if (updates !== UPDATES) throw new Error(`${name}: ${updates} updates arrived of ${UPDATES}`);
    const { user, system } = process.cpuUsage(start);
    times[name]!.push(user + system);
  }
const median = (name: string) => times[name]!.toSorted((a, b) => a - b)[ROUNDS >> 1]!;
for (const name of Object.keys(readers).slice(1)) {
  const value = median("bare") / median(name);
  console.log(`${name.padEnd(26)} ${value.toFixed(2)} (${Math.round(median(name) / 1000)} ms)`);
  row({
    topic: "60,000 updates of ACP, beside JSON.parse",
    name,
    value,
    ...(name.startsWith("parlance") && { aim: 0.5 }),
  });
}
process.exit(0);
