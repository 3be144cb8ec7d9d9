import { createHash } from "node:crypto";
import { contractValue } from "@parlance/language/value";
import { expect, test } from "vitest";
import { type ReadOptions, read } from "../src/read.js";
import { type Entry, formatLine, type Header, isEnd, isHeader, parseLine } from "../src/recording.js";
import { parseTranscriptLine } from "../src/transcript.js";
import { ferry, ferryFiles } from "./ferry.js";

// What a line of a recording may hold, and what is reported of one that holds something else.

const base = { t: 0, c: 1 };
const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };

/** A line of each kind, whole. */
const whole: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  request: { ...base, from: "client", kind: "request", method: "GET", target: "/", headers: [["A", "b"]] },
  response: { ...base, from: "server", kind: "response", status: 200, headers: [] },
  body: { ...base, from: "server", kind: "body", text: "" },
  event: { ...base, from: "server", kind: "event", text: "", event: "a", id: "1", raw: "data\n\n" },
  comment: { ...base, from: "server", kind: "comment", text: ":" },
  frame: { ...base, from: "client", kind: "frame", base64: "AAAA" },
  ping: { ...base, from: "client", kind: "ping" },
  pong: { ...base, from: "server", kind: "pong" },
  end: { ...base, from: "client", kind: "end" },
  close: { ...base, from: "client", kind: "close", code: 1000, reason: "" },
  error: { ...base, from: "server", kind: "error", text: "" },
  header: { ...header, contract: { name: "a", digest: "b" }, metadataOnly: true },
};

/** Values that properties may have, or may not, by their name. Those of no name are tried for each. */
const tried: Readonly<Record<string, readonly unknown[]>> = {
  "": [null, 7, [], {}, "x".repeat(61)],
  t: [-1, 0.5, 1e14, 1e14 + 1, "0"],
  c: [0, 1, 1.5, 2 ** 53],
  from: ["client", "server", "both"],
  kind: ["other"],
  method: ["", "A B", "a-z!"],
  headers: [
    [["a"]],
    [["a", "b", "c"]],
    [["", ""]],
    [["a", ""]],
    [["a", "b\n"]],
    [["a", "\t ÿ"]],
    [["a", "ā"]],
    [["a", 1]],
  ],
  socket: [true, false, "true"],
  status: [99, 100, 101, 102, 199, 200, 999, 1000, 200.5],
  text: ["x"],
  base64: ["", "A", "AAA=", "AA==", "A===", "AA-A"],
  size: [-1, 0, 1.5],
  encoding: ["gzip"],
  event: ["a\nb", "a\rb", "a\0b", ""],
  id: ["a\nb", ""],
  raw: ["a\nb"],
  code: [-1, 0, 65_535, 65_536],
  reason: ["x"],
  recording: [2, 0],
  versions: [{ a: "1" }, { a: 1 }],
  began: ["yesterday", "-200000-01-01T00:00:00Z", "+014000-01-01T00:00:00Z"],
  redacted: [["a"], [1]],
  contract: [{ name: "a" }, { name: 1 }, { name: "a", digest: 1 }],
  metadataOnly: [true, false],
};

test.each(Object.keys(whole))("a line with a %s is read as it is listed", async (kind) => {
  const line = whole[kind]!;
  expect(parseLine(JSON.stringify(line))).toEqual(line);
  const texts: string[] = [];
  const say = (what: string, other: Readonly<Record<string, unknown>>) => {
    const read = parseLine(JSON.stringify(other));
    texts.push(`${what}: ${"flaw" in read ? read.flaw : "fine"}`);
  };
  for (const name of new Set([...Object.keys(line), ...(line.kind === "body" ? ["size", "encoding", "base64"] : [])])) {
    const { [name]: _, ...rest } = line;
    say(`no ${name}`, rest);
    const without = name === "size" || name === "base64" ? { ...rest, text: undefined } : rest;
    for (const value of [...(tried[""] ?? []), ...(tried[name] ?? [])])
      say(`${name} ${JSON.stringify(value).slice(0, 70)}`, { ...without, [name]: value });
  }
  await expect(`${texts.join("\n")}\n`).toMatchFileSnapshot(`./listed/line-${kind}.txt`);
});

test("of a text, its base64 and its size a line has one", () => {
  const { text, ...bare } = whole.body!;
  const flaw = (more: object) => (parseLine(JSON.stringify({ ...bare, ...more })) as { flaw?: string }).flaw;
  expect(flaw({})).toBe("`text` is missing");
  expect(flaw({ text: "", base64: "" })).toBe("there are both `text` and `base64`");
  expect(flaw({ base64: "", size: 0 })).toBe("there are both `base64` and `size`");
  expect(flaw({ size: 0, encoding: "br" })).toBeUndefined();
  for (const [text, said] of [
    ["{", "it is not JSON"],
    ["[]", "it is not an object"],
    ["null", "it is not an object"],
    ["7", "it is not an object"],
  ] as const)
    expect(parseLine(text)).toEqual({ flaw: said });
});

test("a header of another version is known as one, whatever else it holds, and so is an end line", () => {
  const other = parseLine('{"recording":2,"more":true}');
  expect(!("flaw" in other) && isHeader(other)).toBe(true);
  for (const [text, is] of [
    ['{"end":{}}', true],
    ['{"end":null}', false],
    ['{"end":"x"}', false],
  ] as const) {
    const line = parseLine(text);
    expect(!("flaw" in line) && isEnd(line)).toBe(is);
  }
});

const lines = [header, ...["request", "response", "body", "end"].map((kind) => whole[kind]!)].map((line) =>
  formatLine(line as unknown as Entry),
);
const sha256 = createHash("sha256").update(lines.join("")).digest("hex");
const end = (more: object) => `${JSON.stringify({ end: { lines: 5, sha256, ...more } })}\n`;
const good = lines.join("") + end({});
const later = lines[1]!;

/** What becomes of a file. */
const files: readonly [what: string, text: string, ending: object][] = [
  ["whole", good, { state: "complete", lines: 6 }],
  ["without a hash", lines.join("") + end({ sha256: null }), { state: "complete", lines: 6 }],
  ["empty", "", { state: "cut", lines: 0, reason: "there is no end line" }],
  ["cut behind a line", lines.join(""), { state: "cut", lines: 5, reason: "there is no end line" }],
  ["cut in a line", good.slice(0, -4), { state: "cut", lines: 5, reason: "line 6 stops after 92 bytes" }],
  ["cut in its first line", good.slice(0, 3), { state: "cut", lines: 0, reason: "line 1 stops after 3 bytes" }],
  [
    "of another hash",
    lines.join("") + end({ sha256: "0" }),
    { state: "altered", lines: 6, reason: "the hash is another than that of the end line" },
  ],
  [
    "of no hash",
    lines.join("") + end({ sha256: undefined }),
    { state: "altered", lines: 6, reason: "the hash is another than that of the end line" },
  ],
  [
    "of another count",
    lines.join("") + end({ lines: 6 }),
    { state: "altered", lines: 6, reason: "the end line counts 6 lines, there are 5" },
  ],
  [
    "with bytes behind its end",
    `${good}x`,
    { state: "altered", lines: 6, reason: "there are bytes behind the end line" },
  ],
  [
    "with a line behind its end",
    good + later,
    { state: "altered", lines: 6, reason: "there are lines behind the end line" },
  ],
  ["with two headers", lines[0] + good, { state: "altered", lines: 1, reason: "line 2 is a second header" }],
  [
    "without a header",
    later + good,
    { state: "altered", lines: 0, reason: "this is not a recording: its first line is no header" },
  ],
  [
    "of another program",
    "text\n",
    { state: "altered", lines: 0, reason: "this is not a recording: its first line is no header: it is not JSON" },
  ],
  [
    "of bytes without a line",
    "GIF89a\u0001",
    { state: "altered", lines: 0, reason: "this is not a recording: its first line is no header" },
  ],
  [
    "with a flaw",
    `${lines[0]}{"t":1}\n${good}`,
    { state: "altered", lines: 1, reason: "line 2 is no line of a recording: `c` is missing" },
  ],
  [
    "of a later format",
    '{"recording":2}\n',
    { state: "altered", lines: 0, reason: "the recording has format 2, and this program reads format 1: update it" },
  ],
];

const readAll = async (text: string, size: number, more: Partial<ReadOptions> = {}) => {
  const bytes = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const headers: Header[] = [];
  const entries: [number, Entry][] = [];
  const ending = await read(chunks, {
    onHeader: (one) => headers.push(one),
    onEntry: (entry, line) => entries.push([line, entry]),
    ...more,
  });
  return { ending, headers, entries };
};

test.each(files)("a file %s ends as one, in chunks of any size", async (_, text, ending) => {
  for (const size of [1, 7, 1 << 20]) {
    const found = await readAll(text, size, { hash: createHash("sha256") });
    expect(found.ending).toEqual(ending);
  }
});

test("the entries of a file have the numbers of their lines, and its hash is a matter of those who give one", async () => {
  const { headers, entries, ending } = await readAll(lines.join("") + end({ sha256: "0" }), 10);
  expect(ending).toEqual({ state: "complete", lines: 6 });
  expect(headers).toEqual([header]);
  expect(entries.map(([line, { kind }]) => `${line} ${kind}`)).toEqual(["2 request", "3 response", "4 body", "5 end"]);
});

const contract = contractValue(ferry);
test.each(["day", "storm"])("the transcript %s is read as a recording of its contract", async (name) => {
  const text = ferryFiles[`transcripts/${name}.jsonl`]!;
  const { headers, entries, ending } = await readAll(text, 100, { contract });
  expect(ending).toEqual({ state: "complete", lines: text.trim().split("\n").length, transcript: true });
  expect(headers).toEqual([
    {
      recording: 1,
      contract: { name: "ferry" },
      versions: {},
      began: "1970-01-01T00:00:00.000Z",
      redacted: [],
      transcript: true,
    },
  ]);
  const listed = entries.map(([line, entry]) => `${line} ${JSON.stringify(entry)}\n`).join("");
  await expect(listed).toMatchFileSnapshot(`./listed/transcript-${name}.txt`);
});

const step = '{"note":"a"}\n';
const altered = (lines: number, reason: string) => ({ state: "altered", lines, reason, transcript: true });
test.each<[string, string, object]>([
  ["with an empty line", `${step}\n${step}`, { state: "complete", lines: 3, transcript: true }],
  ["without a line feed at its end", step + step.trim(), { state: "complete", lines: 2, transcript: true }],
  ["with a line that is none", `${step}{"t":1}\n${step}`, altered(2, "line 2 is no line of a transcript")],
  [
    "with a status that is none",
    `{"from":"client","call":"notice","input":{},"request":{"method":"GET","target":"/notice"}}\n{"from":"server","status":20,"body":""}\n${step}`,
    altered(2, "line 2 is no line of a transcript: `status` is 20, not 101, or a number from 200 to 999"),
  ],
])("a transcript %s is read up to there", async (_, text, ending) => {
  for (const size of [1, 8, 1 << 20]) expect((await readAll(text, size, { contract })).ending).toEqual(ending);
});

test("a transcript is read with its contract only", async () => {
  const ending = altered(0, "this is a transcript of a contract, which is read with its contract");
  expect((await readAll(step, 100)).ending).toEqual(ending);
});

test.each<[string, boolean]>([
  ['{"note":"a"}', true],
  ['{"note":1}', false],
  ['{"note":"a","kind":"x"}', false],
  ['{"note":"a","recording":1}', false],
  ['{"from":"client","call":"x"}', true],
  ['{"from":"server","status":1}', true],
  ['{"from":"server","wire":""}', true],
  ['{"from":"server","wire":1}', false],
  ['{"from":"server","end":"done"}', true],
  ['{"from":"other","end":"done"}', false],
  ['{"from":"client"}', false],
  ["[]", false],
  ["{", false],
])("%s is a line of a transcript: %s", (text, is) => {
  expect(parseTranscriptLine(text)).toEqual(is ? JSON.parse(text) : undefined);
});
