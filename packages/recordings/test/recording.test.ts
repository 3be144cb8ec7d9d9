import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decoder } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { Blocks, rawOf } from "../src/blocks.js";
import { RecordingFile } from "../src/node/file.js";
import { type Ending, read } from "../src/read.js";
import { Recorder } from "../src/recorder.js";
import type { Entry } from "../src/recording.js";
import { parseLine } from "../src/recording.js";

const fail = (what: unknown) => expect.fail(String(what));
const folder = () => {
  const path = mkdtempSync(join(tmpdir(), "parlance-recording-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
};

/** A file with an answer in each form. */
function written(path: string): Buffer {
  const file = new RecordingFile(path, fail);
  const seen = new Recorder(file.write).connection();
  const bytes = (text: string) => new TextEncoder().encode(text);
  seen.request("POST", "/é", [["Content-Type", "application/json"]]);
  seen.body("client", bytes('{"a":"ü😀"}'));
  seen.end("client");
  seen.response(200, [["Content-Type", "text/event-stream"]]);
  seen.body("server", bytes("event: a\ndata: 1\n\n: beat\n\ndata:2\r\n\r\n"));
  seen.end("server");
  file.close();
  return readFileSync(path);
}

async function reading(bytes: Uint8Array): Promise<Ending & { entries: Entry[] }> {
  const entries: Entry[] = [];
  const ending = await read([bytes], { hash: createHash("sha256"), onEntry: (entry) => void entries.push(entry) });
  return { ...ending, entries };
}

test("a recording is a file of its owner, complete with its end line, and is never overwritten", async () => {
  const path = join(folder(), "a.jsonl");
  const bytes = written(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const { state, entries } = await reading(bytes);
  expect(state).toBe("complete");
  expect(entries.map(({ kind }) => kind)).toEqual(["request", "body", "response", "event", "comment", "event", "end"]);
  expect(
    entries.flatMap((entry) => (entry.kind === "event" ? rawOf(entry) : entry.kind === "comment" ? entry.text : [])),
  ).toEqual(["event: a\ndata: 1\n\n", ": beat\n\n", "data:2\r\n\r\n"]);
  expect(() => new RecordingFile(path, fail)).toThrow("EEXIST");
  expect(readFileSync(path)).toEqual(bytes);
});

test("a file that is cut at any byte is read up to there, and known as cut", async () => {
  const bytes = written(join(folder(), "a.jsonl"));
  const { entries: all } = await reading(bytes);
  for (let length = 1; length < bytes.length; length++) {
    const { state, entries, lines } = await reading(bytes.subarray(0, length));
    const whole = bytes.subarray(0, length).toString("latin1").split("\n").length - 1;
    expect({ length, state, lines, entries }).toEqual({
      length,
      state: "cut",
      lines: whole,
      entries: all.slice(0, Math.max(0, whole - 1)),
    });
  }
});

test("a file in which any byte was changed is known as altered", async () => {
  const bytes = written(join(folder(), "a.jsonl"));
  const wrong: string[] = [];
  // The last byte is the line end of the end line.
  for (let at = 0; at < bytes.length - 1; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = changed[at]! === 0x31 ? 0x32 : 0x31;
    const { state } = await reading(changed);
    if (state === "complete") wrong.push(`byte ${at}`);
  }
  expect(wrong).toEqual([]);
});

const altered: [string, (lines: string[]) => string[]][] = [
  ["a line less", (lines) => lines.toSpliced(2, 1)],
  ["a line twice", (lines) => lines.toSpliced(2, 0, lines[2]!)],
  ["two lines in another order", (lines) => [lines[0]!, lines[2]!, lines[1]!, ...lines.slice(3)]],
  ["a line behind the end", (lines) => [...lines.slice(0, -1), lines[1]!, ""]],
  ["no header", (lines) => lines.slice(1)],
];
test.each(altered)("%s makes a file altered", async (_, change) => {
  const bytes = written(join(folder(), "a.jsonl"));
  const { state } = await reading(Buffer.from(change(bytes.toString().split("\n")).join("\n")));
  expect(state).toBe("altered");
});

describe("the blocks of an event stream", () => {
  const streams = [
    "data: a\n\ndata: b\n\n",
    "data: a\r\n\r\nevent: x\r\ndata: b\r\n\r\n",
    "data: a\r\rdata: b\r\r",
    "\uFEFFdata: a\n\n: comment\n\nid: 7\n\nretry: 5\n\ndata: b\ndata: c\n\nrest",
    "data: a\r\n\n\r\n\r\rdata\n\n",
  ];
  test.each(streams)("are the same, and joined the stream again, wherever it is cut: %j", (text) => {
    const cutInto = (size: number) => {
      const found: { raw: string; data?: string | undefined }[] = [];
      const blocks = new Blocks(1000, ({ raw, event }) => void found.push({ raw, data: event?.data }), fail);
      for (let at = 0; at < text.length; at += size) blocks.push(text.slice(at, at + size));
      blocks.end();
      return found;
    };
    const whole = cutInto(text.length);
    for (const size of [1, 2, 3, 5]) {
      const found = cutInto(size);
      expect(found.map(({ raw }) => raw).join("")).toBe(text);
      expect(found.flatMap(({ data }) => data ?? [])).toEqual(whole.flatMap(({ data }) => data ?? []));
    }
  });

  test("beyond the limit are counted and not kept", () => {
    const sizes: number[] = [];
    const blocks = new Blocks(10, fail, (size) => void sizes.push(size));
    for (const piece of ["data: 12345", "67890", "\n\n"]) blocks.push(piece);
    expect(sizes).toEqual([18]);
  });
});

test("a block in its usual form is the event that a decoder reads", () => {
  const fields = [
    "event: a",
    "event: ",
    "event:a",
    "id: 7",
    "id: ",
    "id: a\0",
    "data: x",
    "data: ",
    "data:  x",
    "data",
    ": c",
  ];
  const blocks = fields.flatMap((a) =>
    fields.flatMap((b) => [`${a}\n\n`, `${a}\n${b}\n\n`, `${a}\n${b}\ndata: z\n\n`]),
  );
  const different = blocks.filter((text) => {
    const found: unknown[] = [];
    const cut = new Blocks(
      1000,
      ({ event }) => void (event && found.push({ event: event.event, data: event.data })),
      fail,
    );
    cut.push(text);
    const expected: unknown[] = [];
    const events = decoder({
      onEvent: ({ event, data }) => expected.push({ event, data }),
      onTooLarge: () => fail(text),
      maxSize: 1000,
    });
    events.push(text);
    return JSON.stringify(found) !== JSON.stringify(expected);
  });
  expect(different).toEqual([]);
});

test.each(["a\nb", "a\rb", "a\u0000b"])("an event whose name or id is %j is no line of a recording", (text) => {
  for (const field of ["event", "id"]) {
    const line = JSON.stringify({ t: 1, c: 1, from: "server", kind: "event", [field]: text, text: "{}" });
    expect(parseLine(line)).toEqual({ flaw: expect.stringContaining(`\`${field}\` is `) });
  }
});
