import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { formatLine, type Line } from "../../src/recording.js";
import { replayClient } from "../../src/replay/client.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { ReplayServer } from "../../src/replay/server.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Megabytes of the longer recording; the other is a tenth. */
const LONG = process.env.PARLANCE_LONG ? 200 : 20;

const EVENT = "x".repeat(1000);

/** A recording of one stream: its file, its size and its request. */
function recorded(megabytes: number): string {
  const folder = mkdtempSync(join(tmpdir(), "parlance-replay-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "long.jsonl");
  const about = { c: 1, t: 0 } as const;
  const event = formatLine({ ...about, from: "server", kind: "event", text: EVENT });
  const count = Math.ceil((megabytes * 1e6) / event.length);
  const lines: readonly Line[] = [
    { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] },
    { ...about, from: "client", kind: "request", method: "GET", target: "/long", headers: [] },
    { ...about, from: "server", kind: "response", status: 200, headers: [["Content-Type", "text/event-stream"]] },
  ];
  const end = [
    { ...about, from: "server", kind: "end" } as const,
    { end: { lines: lines.length + count + 1, sha256: null } },
  ];
  writeFileSync(path, lines.map(formatLine).join("") + event.repeat(count) + end.map(formatLine).join(""));
  return path;
}

/** The most that the heap grew by while a file was replayed by its client against its server, in bytes. */
async function growth(path: string): Promise<number> {
  const load = () => loadRecording((start) => createReadStream(path, { start }), { hash: createHash("sha256") });
  collect();
  const before = process.memoryUsage().heapUsed;
  let most = 0;
  const look = () => {
    collect();
    most = Math.max(most, process.memoryUsage().heapUsed - before);
  };
  const replay = new ReplayServer(await load());
  let passed = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      if (++passed % 1000 === 0) look();
      controller.enqueue(bytes);
    },
  });
  const fetch = async (request: Request) => {
    const { status, headers, body } = await replay.fetch(request);
    return new Response(body!.pipeThrough(counting), { status, headers });
  };
  expect(await replayClient(await load(), { fetch })).toEqual([]);
  expect(replay.close()).toEqual([]);
  look();
  return most;
}

test(`the heap of a replay does not grow with its recording, of ${LONG / 10} MB and of ${LONG} MB`, {
  timeout: 600_000,
}, async () => {
  await growth(recorded(1));
  const short = await growth(recorded(LONG / 10));
  const long = await growth(recorded(LONG));
  console.log(`replays of ${LONG / 10} and ${LONG} MB: the heap grew by ${short / 1e6} and ${long / 1e6} MB`);
  // What is on its way and not yet collected is the same for both.
  expect(long / Math.max(short, 2e6)).toBeLessThan(2);
});
