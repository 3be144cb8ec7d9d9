import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract } from "@parlance/wire";
import { expect, onTestFinished, test } from "vitest";
import { Conversations } from "../../src/conversation.js";
import { RecordingFile } from "../../src/node/file.js";
import { read } from "../../src/read.js";
import { Recorder } from "../../src/recorder.js";
import { type Finding, Verifier } from "../../src/verify.js";

/** By default it only shows that the whole way works; the long form is far above what memory may grow by. */
const SIZE = process.env.PARLANCE_LONG ? 1e9 : 1e6;
/** What memory may grow by, whatever the size: buffers of files, and what is not yet collected. */
const MOST = 300e6;

test(`a recording of ${SIZE / 1e6} MB is written and verified in memory that does not grow with it`, {
  timeout: 600_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-long-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "long.jsonl");
  const contract = foldGateway as unknown as AnyContract;
  let most = 0;
  const before = process.memoryUsage().rss;
  const look = () => {
    most = Math.max(most, process.memoryUsage().rss - before);
  };

  const file = new RecordingFile(path, (error) => expect.fail(error.message));
  const recorder = new Recorder(file.write, { contract });
  const event = new TextEncoder().encode(`event: text\ndata: ${JSON.stringify({ text: "x".repeat(1000) })}\n\n`);
  const done = new TextEncoder().encode('event: done\ndata: {"full_response":"x"}\n\n');
  for (let sent = 0; sent < SIZE; ) {
    const seen = recorder.connection();
    const token = `token-${sent}-of-this-call`;
    seen.request("POST", "/api/send", [
      ["Content-Type", "application/json"],
      ["Authorization", `Bearer ${token}`],
    ]);
    seen.body("client", new TextEncoder().encode('{"content":"x"}'));
    seen.end("client");
    seen.response(200, [["Content-Type", "text/event-stream"]]);
    for (let i = 0; i < 1000 && sent < SIZE; i++, sent += event.length) seen.body("server", event);
    seen.body("server", done);
    seen.end("server");
    look();
  }
  file.close();
  expect(statSync(path).size).toBeGreaterThan(SIZE);

  const findings: Finding[] = [];
  const talk = new Conversations(contract, await contract.accepts());
  const verifier = new Verifier(talk, (finding) => findings.push(finding));
  const ending = await read(createReadStream(path, { highWaterMark: 1 << 20 }), {
    hash: createHash("sha256"),
    onEntry: (entry, line) => {
      verifier.entry(entry, line);
      if (line % 10_000 === 0) look();
    },
  });
  verifier.end(ending.lines, false);
  expect({ state: ending.state, findings }).toEqual({ state: "complete", findings: [] });
  console.log(`${SIZE / 1e6} MB, ${ending.lines} lines: memory grew by ${Math.round(most / 1e6)} MB`);
  expect(most).toBeLessThan(MOST);
});
