import { join } from "node:path";
import { connect } from "@parlance/client";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { formatLine } from "@parlance/recordings/internal/entries";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { Scope } from "@parlance/wire/scope";
import { expect, onTestFinished, test, vi } from "vitest";
import { serving } from "./session.js";
import { folder, parlance } from "./terminal.js";

// How long a command waits: --speed, --wait, --latency. A wait of more than 1000 s is over at once here, and is listed.

const LONG = 1_000_000;

function timeouts(): number[] {
  const { timeout } = Scope.prototype;
  const waits: number[] = [];
  const spy = vi.spyOn(Scope.prototype, "timeout").mockImplementation(function (this: Scope, wait, run) {
    waits.push(wait);
    return timeout.call(this, wait > LONG ? 0 : wait, run);
  });
  onTestFinished(() => spy.mockRestore());
  return waits;
}

const post = { from: "client", kind: "request", method: "POST", target: "/prompt" } as const;
const json = ["content-type", "application/json"] as const;
const stream = ["content-type", "text/event-stream"] as const;

/** Two calls. The second comes 10,000 s after the first, which is answered after 4000 s. */
const entries = [
  { t: 0, c: 1, ...post, headers: [json] },
  { t: 0, c: 1, from: "client", kind: "body", text: '{"prompt":"hello"}' },
  { t: 0, c: 1, from: "server", kind: "response", status: 200, headers: [stream] },
  { t: 4_000_000, c: 1, from: "server", kind: "event", event: "done", text: '{"text":"hello"}' },
  { t: 4_000_000, c: 1, from: "server", kind: "end" },
  { t: 14_000_000, c: 2, ...post, headers: [json] },
  { t: 14_000_000, c: 2, from: "client", kind: "body", text: '{"prompt":"bye"}' },
  { t: 14_000_000, c: 2, from: "server", kind: "response", status: 200, headers: [stream] },
  { t: 14_000_000, c: 2, from: "server", kind: "event", event: "done", text: '{"text":"bye"}' },
  { t: 14_000_000, c: 2, from: "server", kind: "end" },
];

async function started() {
  const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00.000Z", redacted: [] } as const;
  const end = { end: { lines: entries.length + 1, sha256: null } };
  const lines = [header, ...entries, end].map((line) => formatLine(line as Parameters<typeof formatLine>[0]));
  const cwd = await folder({ "talk.jsonl": lines.join("") });
  await parlance(cwd, "init --example sse");
  const contract = contractValue(await load(join(cwd, "schemas/my-agent")));
  const app = serve(contract, {
    async *prompt({ prompt = "" }: { prompt?: string }) {
      yield { type: "done", text: prompt };
    },
  });
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  /** What a client gets for the two calls of the recording. */
  const talk = async (baseUrl: string) => {
    const client = connect(contract, { baseUrl, retryWaits: [], resume: false });
    const texts: unknown[] = [];
    for (const prompt of ["hello", "bye"])
      for await (const { text } of client.prompt({ prompt }) as AsyncIterable<{ text: string }>) texts.push(text);
    expect(texts).toEqual(["hello", "bye"]);
  };
  return { cwd, url: server.url, talk };
}

const long = (waits: readonly number[]) => waits.filter((wait) => wait > LONG);

test.each([
  ["", []],
  ["--speed 0", []],
  ["--speed 1", [10_000_000]],
  ["--speed 4", [2_500_000]],
])(
  "replay --as client %s pauses before the client's steps as long as the recorded client, by the speed",
  async (words, pauses) => {
    const { cwd, url } = await started();
    const waits = timeouts();
    const { code, out } = await parlance(cwd, `replay talk.jsonl --as client --target ${url} ${words}`);
    expect({ code, out, pauses: long(waits) }).toEqual({ code: 0, out: "", pauses });
  },
);

test.each([
  ["replay talk.jsonl --as server", []],
  ["replay talk.jsonl --as server --speed 1", [4_000_000]],
  ["replay talk.jsonl --as server --speed 2", [2_000_000]],
  ["mock schemas --from talk.jsonl", []],
  ["mock schemas --from talk.jsonl --speed 1", [4_000_000]],
  ["mock schemas --from talk.jsonl --speed 0.5", [8_000_000]],
  ["mock schemas --from talk.jsonl --latency 2000000", [2_000_000, 2_000_000, 2_000_000, 2_000_000]],
  ["mock schemas --from talk.jsonl --latency 0", []],
])("%s pauses in its answers by its options", async (words, pauses) => {
  const { cwd, talk } = await started();
  const waits = timeouts();
  expect(await serving(cwd, words, talk)).toMatch(/= 0\n$/);
  expect(long(waits)).toEqual(pauses);
});

test.each([
  ["", 10_000],
  ["--wait 4567", 4567],
])("replay %s waits for the other side's next step for %i ms", async (words, wait) => {
  const { cwd, url, talk } = await started();
  const waits = timeouts();
  expect((await parlance(cwd, `replay talk.jsonl --as client --target ${url} ${words}`)).code).toBe(0);
  expect(waits).toContain(wait);
  waits.length = 0;
  expect(await serving(cwd, `replay talk.jsonl --as server ${words}`.trim(), talk)).toMatch(/= 0\n$/);
  expect(waits).toContain(wait);
});
