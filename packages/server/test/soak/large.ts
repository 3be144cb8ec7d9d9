import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type CovenHandlers, coven } from "@parlance/protocols/coven";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { newKey, RESUME } from "@parlance/wire";

// A process of its own: holds texts of a megabyte in each way that a stream can, and writes a line of JSON for each.

/** What one way holds. */
export interface Weight {
  readonly name: string;
  /** Bytes of heap, after collection, for each byte of a text of each stream. */
  readonly heap: number;
  /** Characters that the gauges report for each byte. */
  readonly gauged: number;
}

const SIZE = 1024 * 1024;
const STREAMS = 24;
const TEXTS = STREAMS * SIZE;
const MESSAGES = 20;
const options = {
  partial: true,
  onError: false,
  grace: 600_000,
  maxMessageSize: 2 * SIZE,
  maxTotalReceived: 2 * SIZE * STREAMS,
  maxQueued: SIZE,
} as const;
const DONE = { type: "done", full_response: "" } as const;

/** A string of its own, as one that is read from a network. */
const textOf = (character: string): string => Buffer.alloc(SIZE, character).toString("latin1");

function foldApp(send: FoldGatewayHandlers["send"]): App {
  return serve(foldGateway, { send } as FoldGatewayHandlers, options);
}

const yielding = () =>
  foldApp(async function* () {
    for (let i = 0; i < MESSAGES; i++) yield { type: "text", text: textOf("y") };
    yield DONE;
  });
const sending = foldApp(async (_, call) => {
  for (let i = 0; i < MESSAGES; i++) await call.send({ type: "text", text: textOf("s") });
  await call.send(DONE);
});
const ending = foldApp(async function* () {
  yield { ...DONE, full_response: textOf("e") };
});
const ended = foldApp(async function* () {
  yield { type: "text", text: "x" };
  yield { ...DONE, full_response: textOf("e") };
});
const answering = foldApp(async function* ({ content }) {
  yield { ...DONE, full_response: content.slice(0, 1) };
});
const asking = serve(
  coven,
  {
    async *sendToAgent({ message }) {
      yield { ...DONE, full_response: message.slice(0, 1) };
    },
  } as Partial<CovenHandlers> as CovenHandlers,
  options,
);

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function heap(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return process.memoryUsage().heapUsed;
}

function requestOf(path: string, body: object): Request {
  const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
  return new Request(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

function gauged(app: App): number {
  const { held, logged } = app.stats();
  return held + logged;
}

/** Holds streams whose readers take nothing. */
async function leaveUnread(app: App, isResumable: boolean): Promise<void> {
  const server = await listen(app, { port: 0, closeAfter: 0 });
  const body = JSON.stringify({ content: "x" });
  const lines = [
    "POST /api/send HTTP/1.1",
    "Host: localhost",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  for (let i = 0; i < STREAMS; i++) {
    const own = isResumable ? [`${RESUME}: ${newKey()}`] : [];
    const socket = connect(server.port, "127.0.0.1").pause();
    socket.on("error", () => {}).write(`${[...lines, ...own].join("\r\n")}\r\n\r\n${body}`);
  }
  // A network takes some megabytes.
  const deadline = performance.now() + 30_000;
  let before = -1;
  for (let now = 0; (now < TEXTS || now !== before) && performance.now() < deadline; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    [before, now] = [now, gauged(app)];
  }
}

/** Runs streams to their ends; each is kept for its readers. */
async function finish(app: App, path: string, body: () => object): Promise<void> {
  for (let i = 0; i < STREAMS; i++) {
    const answer = await app.fetch(requestOf(path, body()));
    if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`);
    await answer.text();
  }
}

const ways: readonly [name: string, app: App, hold: (app: App) => Promise<void>][] = [
  ["unread, yielded", yielding(), (app) => leaveUnread(app, false)],
  ["unread, sent", sending, (app) => leaveUnread(app, false)],
  ["unread, resumable", yielding(), (app) => leaveUnread(app, true)],
  ["kept, with one message", ending, (app) => finish(app, "/api/send", () => ({ content: "x" }))],
  ["kept, with a large end", ended, (app) => finish(app, "/api/send", () => ({ content: "x" }))],
  ["finished", answering, (app) => finish(app, "/api/send", () => ({ content: textOf("i") }))],
  ["finished, with questions", asking, (app) => finish(app, "/api/agents/a/send", () => ({ message: textOf("i") }))],
];
for (const [name, app, hold] of ways) {
  const before = await heap();
  await hold(app);
  const weight: Weight = { name, heap: ((await heap()) - before) / TEXTS, gauged: gauged(app) / TEXTS };
  console.log(JSON.stringify(weight));
}
process.exit();
