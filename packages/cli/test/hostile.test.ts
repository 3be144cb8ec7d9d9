import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { visibleLines } from "@parlance/wire/internal/escape";
import { describe, expect, onTestFinished, test } from "vitest";
import { folder, parlance, start, write } from "./terminal.js";

// Recordings that somebody else made, to harm the one who opens them.

const CONTRACT = fileURLToPath(new URL("../../../schemas/fold-gateway", import.meta.url));

const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00.000Z", redacted: [], metadataOnly: false };
const request = { from: "client", kind: "request", method: "GET", target: "/health", headers: [] };
const response = { from: "server", kind: "response", status: 200, headers: [["content-type", "text/plain"]] };
const body = { from: "server", kind: "body", text: "OK" };
const end = { from: "server", kind: "end" };
const usual: readonly object[] = [request, response, body, end];

/** A whole file, with the count and hash of its lines. */
function file(entries: readonly object[], first: object = header): string {
  const text = [first, ...entries.map((entry) => ({ t: 1, c: 1, ...entry }))]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
  const sha256 = createHash("sha256").update(text).digest("hex");
  return `${text}${JSON.stringify({ end: { lines: entries.length + 1, sha256 } })}\n`;
}

const socketTo = (target: string) => [
  { ...request, target, socket: true },
  { from: "server", kind: "response", status: 101, headers: [] },
  { from: "server", kind: "close", code: 1000, reason: "" },
];

describe("the reader names the line and its flaw, and no command takes the file for whole or throws", () => {
  const flawed: [flaw: string, entries: readonly object[], first?: object][] = [
    ["`text` is a list", usual.with(2, { ...body, text: [[["a"]]] })],
    ["`text` is missing", usual.with(2, { from: "server", kind: "body" })],
    ["both `text` and `size`", usual.with(2, { ...body, size: 2 })],
    ["`size` is -1", usual.with(2, { ...body, text: undefined, size: -1 })],
    ["`base64` is", usual.with(2, { from: "server", kind: "body", base64: "!!!not" })],
    ["`status` is 99999", usual.with(1, { ...response, status: 99_999 })],
    ["`status` is 100", usual.with(1, { ...response, status: 100 })],
    ["`headers` is a list", usual.with(1, { ...response, headers: [["x\r\ny", "1"]] })],
    ["`headers` is a list", usual.with(1, { ...response, headers: [["x", "1\r\nSet-Cookie: a=b"]] })],
    ["`headers` is a list", usual.with(1, { ...response, headers: [["x", 1]] })],
    ["`headers` is an object", usual.with(1, { ...response, headers: { x: "1" } })],
    ["`headers` is missing", usual.with(0, { ...request, headers: undefined })],
    ["`method` is", usual.with(0, { ...request, method: "GET /x HTTP/1.1\r\n" })],
    ["`target` is 5", usual.with(0, { ...request, target: 5 })],
    ["`t` is -1e+308", usual.map((entry) => ({ ...entry, t: -1e308 }))],
    ["`c` is -5", usual.map((entry) => ({ ...entry, c: -5 }))],
    ['`c` is "__proto__"', usual.map((entry) => ({ ...entry, c: "__proto__" }))],
    ['`kind` is "strange"', usual.with(2, { ...body, kind: "strange" })],
    ['`from` is "client"', usual.with(1, { ...response, from: "client" })],
    ["`code` is", [...socketTo("/a").slice(0, 2), { from: "server", kind: "close", code: "1000", reason: "" }]],
    ["`reason` is missing", [...socketTo("/a").slice(0, 2), { from: "server", kind: "close", code: 1000 }]],
    ["`began` is", usual, { ...header, began: "never" }],
    ["`versions` is", usual, { ...header, versions: { a: {} } }],
    ["`redacted` is", usual, { ...header, redacted: "no" }],
  ];
  const commands = [
    `verify a.jsonl --contract ${CONTRACT}`,
    "verify a.jsonl",
    "export a.jsonl --har",
    "export a.jsonl --md",
    "replay a.jsonl --as server",
    "replay a.jsonl --as client --target http://127.0.0.1:1 --wait 1",
    `mock ${CONTRACT} --from a.jsonl`,
  ];

  test.each(flawed)("%s", async (flaw, entries, first) => {
    const cwd = await folder({ "a.jsonl": file(entries, first) });
    const { code, err } = await parlance(cwd, "verify a.jsonl");
    expect([code, err]).toEqual([1, expect.stringContaining(flaw)]);
  });

  const call = {
    from: "client",
    call: "send",
    input: {},
    request: { method: "POST", target: "/api/send", body: "{}" },
  };
  const transcripts: [flaw: string, lines: readonly object[]][] = [
    ["line 1 is no line of a transcript: `method` is 5", [{ ...call, request: { ...call.request, method: 5 } }]],
    ["line 1 is no line of a transcript: `target` is missing", [{ ...call, request: { method: "GET" } }]],
    ["line 1 is no line of a transcript: `text` is a list", [{ ...call, request: { ...call.request, body: [] } }]],
    ["line 2 is no line of a transcript: `status` is 99999", [call, { from: "server", status: 99_999, body: "" }]],
    ["line 2 is no line of a transcript: `headers` is a list", [call, { from: "server", status: 200, type: "a\nb" }]],
    ["line 2 is no line of a transcript", [call, { from: "server", wire: 5 }]],
  ];
  test.each(transcripts)("of a transcript: %s", async (flaw, lines) => {
    const cwd = await folder({ "a.jsonl": lines.map((line) => `${JSON.stringify(line)}\n`).join("") });
    const { code, err } = await parlance(cwd, `verify a.jsonl --contract ${CONTRACT}`);
    expect([code, err]).toEqual([1, expect.stringContaining(flaw)]);
  });

  test.each(commands)("%s", async (command) => {
    const [flaw, entries] = flawed[0]!;
    const cwd = await folder({ "a.jsonl": file(entries) });
    const { code, err } = await parlance(cwd, command);
    expect([code, err]).toEqual([/^(verify|export)/.test(command) ? 1 : 2, expect.stringContaining(flaw)]);
  });
});

describe("a target that is no path reaches no server, as a request or a WebSocket", () => {
  test.each([
    ":PORT/steal",
    "@127.0.0.1:PORT/steal",
    "http://127.0.0.1:PORT/steal",
    "//127.0.0.1:PORT/steal",
    "/\\127.0.0.1:PORT/steal",
    "*",
    "",
    "/a b",
  ])("%s", async (target) => {
    const seen: string[] = [];
    const other = await listening(createServer((_, answer) => void answer.end(String(seen.push("request")))));
    other.on("upgrade", (_, socket) => void socket.end(String(seen.push("upgrade"))));
    const { port } = other.address() as AddressInfo;
    const at = target.replace("PORT", String(port));
    const cwd = await folder();
    for (const entries of [usual.with(0, { ...request, target: at }), socketTo(at)]) {
      await write(cwd, { "a.jsonl": file(entries) });
      for (const server of ["http://localhost", `http://127.0.0.1:${port}`, "http://127.0.0.1:1"]) {
        const words = `replay a.jsonl --as client --target ${server} --header authorization:mine --wait 1`;
        const { code, err } = await parlance(cwd, words);
        expect([code, err]).toEqual([2, expect.stringContaining("is not a path that begins with one /")]);
      }
      for (const contract of target === "*" ? ["", `--contract ${CONTRACT}`] : [""]) {
        const { code, out } = await parlance(cwd, `verify a.jsonl ${contract}`);
        expect([code, out]).toEqual([1, expect.stringContaining("is not a path that begins with one /")]);
      }
      for (const form of ["--har", "--md"]) expect((await parlance(cwd, `export a.jsonl ${form}`)).code).toBe(0);
    }
    expect(seen).toEqual([]);
  });
});

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return server;
}

describe("no output has a character that controls a terminal or turns its text", () => {
  const HARM = "\u001b]0;pwn\u0007\u009b31m\u202e\u2066\u200f\u061c\u2028\u0085\u007f\r\ufeffx";
  const harmful = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

  test("of a recording", async () => {
    const text = JSON.stringify({ [HARM]: HARM });
    const first = {
      ...header,
      contract: { name: "fold-gateway", digest: HARM },
      versions: { [HARM]: HARM },
      redacted: [HARM],
    };
    const harm: readonly object[] = [
      { ...request, target: `/x${HARM}\n::error::forged` },
      { ...response },
      { ...body, text: HARM },
      end,
      { ...request, c: 2, method: "POST", target: "/api/send" },
      { ...body, c: 2, from: "client", text: `${text}\n` },
      { ...response, c: 2, headers: [["content-type", "text/event-stream"]] },
      {
        from: "server",
        kind: "event",
        c: 2,
        event: HARM.replaceAll("\r", ""),
        id: HARM.replaceAll("\r", ""),
        text,
        raw: HARM,
      },
      { from: "server", kind: "comment", c: 2, text: HARM },
      { from: "server", kind: "error", c: 2, text: `${HARM}\n::error::forged` },
      { ...socketTo("/w")[0], c: 3 },
      { ...socketTo("/w")[1], c: 3 },
      { from: "client", kind: "frame", c: 3, text: HARM },
      { from: "server", kind: "close", c: 3, code: 4001, reason: HARM },
    ];
    const sendable = harm.slice(4);
    const cwd = await folder({
      "all.jsonl": file(harm, first),
      "replay.jsonl": file(sendable, first),
      "flawed.jsonl": file([{ ...request, method: HARM }], first),
    });
    const server = await listening(createServer((_, answer) => void answer.end(HARM)));
    const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const all: Record<string, { out: string; err: string }> = {};
    for (const words of [
      ...["", "--json", `--contract ${CONTRACT}`, `--contract ${CONTRACT} --json`].map(
        (more) => `verify all.jsonl ${more}`,
      ),
      "export all.jsonl --md",
      "export all.jsonl --har",
      ...["", "--json"].map((more) => `replay replay.jsonl --as client --target ${target} --wait 20 ${more}`),
      "replay all.jsonl --as client --target http://127.0.0.1:1",
      "replay flawed.jsonl --as server",
      "verify flawed.jsonl",
    ])
      all[words] = await parlance(cwd, words);
    const replay = start(cwd, "replay replay.jsonl --as server");
    await replay.printed("http://");
    const { port } = new URL(`http://${replay.text().split(";")[0]}`);
    const answer = await fetch(`http://127.0.0.1:${port}/${encodeURIComponent(HARM)}`);
    expect(await answer.text()).not.toMatch(harmful);
    await replay.stop();
    all["replay --as server"] = { out: replay.text(), err: "" };
    for (const [words, { out, err }] of Object.entries(all)) {
      expect(out.length + err.length, words).toBeGreaterThan(40);
      expect(harmful.exec(out + err)?.input.slice(0, 200), words).toBeUndefined();
      expect(`${out}${err}`, words).not.toMatch(/^(::error|.*\n::error)/m);
      if (words.includes("--json") || words.includes("--har")) JSON.parse(out);
    }
    // JSON has the same value as before.
    expect(all["export all.jsonl --har"]!.out).toContain("\\u009b31m");
    expect(JSON.stringify(JSON.parse(all["export all.jsonl --har"]!.out))).toContain("\u009b31m");
  });

  test("of any kind, and an escape of JSON is the same value", () => {
    const every = Array.from({ length: 0x10_000 }, (_, code) => String.fromCharCode(code)).join("");
    expect(visibleLines(every)).not.toMatch(harmful);
    expect(JSON.parse(visibleLines(JSON.stringify(every)))).toBe(every);
  });
});
