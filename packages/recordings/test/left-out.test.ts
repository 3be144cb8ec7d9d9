import { gzipSync } from "node:zlib";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import type { AnyContract } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { describe, expect, it } from "vitest";
import { MAX_CONTENT } from "../src/bodies.js";
import { Conversations } from "../src/conversation.js";
import { Exchanges } from "../src/export/connections.js";
import { har } from "../src/export/har.js";
import { markdown } from "../src/export/markdown.js";
import { LeftOut } from "../src/left-out.js";
import { mock } from "../src/mock/mock.js";
import { type Connection, Recorder } from "../src/recorder.js";
import { type Entry, type Header, type HeaderList, parseLine } from "../src/recording.js";
import { replayClient } from "../src/replay/client.js";
import { loadRecording } from "../src/replay/loaded.js";
import { formatProblem } from "../src/replay/replay.js";
import { ReplayServer } from "../src/replay/server.js";
import { Verifier } from "../src/verify.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const utf16 = (text: string) => new Uint8Array(Buffer.from(`\uFEFF${text}`, "utf16le"));
const json = ["Content-Type", "application/json"] as const;
const stream = ["Content-Type", "text/event-stream"] as const;

const question = JSON.stringify({ content: "hello" });
const agents = JSON.stringify([{ id: "1", name: "echo", capabilities: [] }]);
const events = 'event: text\ndata: {"text":"hel"}\n\nevent: done\ndata: {"full_response":"hello"}\n\n';
const long = " ".repeat(MAX_CONTENT);

/** Why a body is left out, with its headers and its bytes. */
const BODIES: readonly (readonly [why: string, headers: HeaderList, bytesOf: (text: string) => Uint8Array])[] = [
  ["encoded: gzip", [["Content-Encoding", "gzip"]], (text) => gzipSync(text)],
  ["encoded: br", [["Content-Encoding", "br"]], bytes],
  ["encoded: utf-16", [["Content-Type", "application/json; charset=utf-16"]], utf16],
  // No header says so.
  ["encoded: gzip", [], (text) => gzipSync(text)],
  ["encoded: utf-16", [], utf16],
  [`over the limit of ${MAX_CONTENT}`, [], (text) => bytes(long + text)],
];

const typed = (headers: HeaderList) =>
  headers.some(([name]) => name === "Content-Type") ? headers : [json, ...headers];

/** What a recorder writes of a connection. */
function recorded(talk: (connection: Connection) => void) {
  const lines: string[] = [];
  const recorder = new Recorder((line) => lines.push(line));
  talk(recorder.connection());
  const [header, ...entries] = lines.map((line) => parseLine(line)) as [Header, ...Entry[]];
  return { header, entries, load: () => loadRecording([bytes(lines.join(""))]) };
}

type Recorded = ReturnType<typeof recorded>;

/** The findings of `verify`, and what it counts. */
async function verified(contract: AnyContract, { header, entries }: Recorded) {
  const findings: string[] = [];
  const verifier = new Verifier(new Conversations(contract, await contract.accepts()), ({ message }) =>
    findings.push(message),
  );
  verifier.header(header);
  for (const [at, entry] of entries.entries()) verifier.entry(entry, at + 2);
  verifier.end(entries.length + 1, false);
  return { findings, leftOut: JSON.parse(JSON.stringify(verifier.totals.leftOut)) };
}

function exported({ header, entries }: Recorded) {
  let archive = "";
  let text = "";
  const exchanges = new Exchanges((one) => {
    archive += har.connection(header, one, "http://localhost");
    text += markdown.connection(header, one, "http://localhost");
  });
  for (const entry of entries) exchanges.entry(entry);
  exchanges.end();
  return { archive: JSON.parse(archive), text };
}

const asking = (headers: HeaderList, body: Uint8Array) => (connection: Connection) => {
  connection.request("POST", "/api/send", headers);
  connection.body("client", body);
  connection.end("client");
};

const reader = () => ({
  method: "POST",
  target: "/api/send",
  headers: [json],
  body: question,
});

async function textOf({ body }: { body(signal: AbortSignal): AsyncIterable<Uint8Array> }): Promise<string> {
  let text = "";
  for await (const chunk of body(new AbortController().signal)) text += new TextDecoder().decode(chunk);
  return text;
}

const fold = foldGateway as unknown as AnyContract;

describe.each(BODIES)("a request's body that is left out (%s, %j)", (why, headers, bytesOf) => {
  const body = bytesOf(question);
  const recording = recorded((connection) => {
    asking(typed(headers), body)(connection);
    connection.response(200, [stream]);
    connection.body("server", bytes(events));
    connection.end("server");
  });
  const size = `${body.length} bytes, ${why}`;

  it("is counted by verify, which checks the rest", async () => {
    expect(await verified(fold, recording)).toEqual({ findings: [], leftOut: { [why]: 1 } });
    const wrong = { ...recording, entries: recording.entries.filter(({ kind }) => kind !== "event") };
    expect((await verified(fold, wrong)).findings).toEqual(["send stopped without done or error"]);
  });

  it("is not sent as an empty one", async () => {
    const asked: unknown[] = [];
    const fetch = async (request: Request) => {
      asked.push(request);
      return new Response("");
    };
    const problems = await replayClient(await recording.load(), { fetch });
    expect(problems.map(formatProblem)).toEqual([
      `left: POST /api/send was not sent: its body is not in the recording (${size})`,
    ]);
    expect(asked).toEqual([]);
  });

  it("fits any body of a replay's client, and is counted", async () => {
    const loaded = await recording.load();
    const server = new ReplayServer(loaded);
    const answer = await server.answer(reader());
    expect([answer.status, await textOf(answer)]).toEqual([200, events]);
    expect(server.close()).toEqual([]);
    expect(String(loaded.leftOut.client)).toBe(`1 ${why}`);
  });

  it("is named in exports", () => {
    const { archive, text } = exported(recording);
    expect(archive.request).toMatchObject({ bodySize: body.length, postData: { comment: `left out: ${size}` } });
    expect(text).toContain(`(${size})`);
  });
});

describe.each(BODIES)("an answer that is left out (%s, %j)", (why, headers, bytesOf) => {
  const body = bytesOf(agents);
  const recording = recorded((connection) => {
    connection.request("GET", "/api/agents", []);
    connection.end("client");
    connection.response(200, typed(headers));
    connection.body("server", body);
    connection.end("server");
  });
  const size = `${body.length} bytes, ${why}`;
  const live = { method: "GET", target: "/api/agents", headers: [] };

  it("is counted by verify", async () => {
    expect(await verified(fold, recording)).toEqual({ findings: [], leftOut: { [why]: 1 } });
  });

  it("is compared with no body", async () => {
    const loaded = await recording.load();
    const fetch = async () => new Response(agents, { headers: [[...typed(headers)[0]!] as [string, string]] });
    const problems = await replayClient(loaded, { fetch });
    expect(problems.map(formatProblem)).toEqual([]);
    expect(String(loaded.leftOut.server)).toBe(`1 ${why}`);
  });

  it("is answered by a replay with 501 and why, and by a mock from the examples", async () => {
    const server = new ReplayServer(await recording.load());
    const answer = await server.answer(live);
    const what = `the answer of GET /api/agents is not in the recording: ${size}`;
    expect([answer.status, await textOf(answer)]).toEqual([501, `replay: ${what}\n`]);
    expect(server.close().map(formatProblem)).toEqual([`left: ${what}`]);
    const mocked = await mock(foldGateway, { from: await recording.load() }).answer(live);
    expect([mocked.status, JSON.parse(await textOf(mocked))]).toEqual([200, expect.any(Array)]);
  });

  it("is named in exports", () => {
    const { archive, text } = exported(recording);
    expect(archive.response.content).toMatchObject({ size: body.length, text: "", comment: `left out: ${size}` });
    expect(text).toContain(`(${size})`);
  });
});

describe("a stream that is left out as a whole", () => {
  const body = gzipSync(events);
  const recording = recorded((connection) => {
    asking([json], bytes(question))(connection);
    connection.response(200, [stream, ["Content-Encoding", "gzip"]]);
    connection.body("server", body);
    connection.end("server");
  });

  it("has an end that is not known", async () => {
    expect(await verified(fold, recording)).toEqual({ findings: [], leftOut: { "encoded: gzip": 1 } });
  });

  it("is compared with no number of events", async () => {
    const fetch = async () => new Response(events, { headers: { "content-type": "text/event-stream" } });
    expect((await replayClient(await recording.load(), { fetch })).map(formatProblem)).toEqual([]);
  });
});

describe("an event over the limit", () => {
  const done = `event: done\ndata: {"full_response":"${"x".repeat(MAX_CONTENT)}"}\n\n`;
  const recording = recorded((connection) => {
    asking([json], bytes(question))(connection);
    connection.response(200, [stream]);
    connection.body("server", bytes(`event: text\ndata: {"text":"hel"}\n\n${done}: the end\n\n`));
    connection.end("server");
  });
  const why = `over the limit of ${MAX_CONTENT}`;

  it("may be the end of its stream", async () => {
    expect(await verified(fold, recording)).toEqual({ findings: [], leftOut: { [why]: 1 } });
  });

  it("keeps its place where a live server sends it", async () => {
    const sent = `event: text\ndata: {"text":"hel"}\n\n${done}`;
    const fetch = async () => new Response(sent, { headers: { "content-type": "text/event-stream" } });
    expect((await replayClient(await recording.load(), { fetch })).map(formatProblem)).toEqual([]);
  });

  it("is reported by a replay that cannot send it, and exported as left out", async () => {
    const server = new ReplayServer(await recording.load());
    await textOf(await server.answer(reader()));
    const size = `${done.length} bytes, ${why}`;
    expect(server.close().map(formatProblem)).toEqual([
      `left: event (${size}) of POST /api/send is not in the recording`,
    ]);
    const { archive, text } = exported(recording);
    const { content } = archive.response;
    expect([content.comment, content.text]).toEqual([
      `left out: ${size}`,
      'event: text\ndata: {"text":"hel"}\n\n: the end\n\n',
    ]);
    expect(text).toContain(`(${size})`);
  });
});

describe.each([
  ["over the limit", "x".repeat(MAX_CONTENT + 1), `over the limit of ${MAX_CONTENT}`],
  ["packed", gzipSync("{}"), "encoded: gzip"],
] as const)("a frame that is %s", (_, data, why) => {
  const frame = { status: "success", action: "file_list", files: [] };
  const talk = (from: "client" | "server") =>
    recorded((connection) => {
      connection.request("GET", "/ws", [], true);
      connection.response(101, []);
      connection.frame(from, data);
      connection.frame("server", JSON.stringify(frame));
      connection.close("server", 1000, "");
    });
  const size = `${data.length} bytes, ${why}`;

  it("is counted by verify", async () => {
    const contract = based as unknown as AnyContract;
    expect(await verified(contract, talk("server"))).toEqual({ findings: [], leftOut: { [why]: 1 } });
  });

  it("is reported where a replay cannot send it", async () => {
    const [near, far] = pair();
    const webSocket = async () => near;
    far.send(JSON.stringify(frame));
    far.close(1000, "");
    const problems = await replayClient(await talk("client").load(), { webSocket, fetch });
    expect(problems.map(formatProblem)).toEqual([
      `left: frame of the client on WebSocket /ws is not in the recording: ${size}`,
    ]);
  });

  it("is named in exports", () => {
    const { archive, text } = exported(talk("server"));
    expect(archive._webSocketMessages[0]).toMatchObject({ data: "", comment: `left out: ${size}` });
    expect(text).toContain(`(${size})`);
  });
});

it("may be what a later answer answers", async () => {
  const answer = { type: "client.approval_response", request_id: "r1", approved: true, scope: "all" };
  const talk = (...first: Uint8Array[]) =>
    recorded((connection) => {
      connection.request("GET", "/v1/sessions/s1/stream", [], true);
      connection.response(101, []);
      for (const data of first) connection.frame("server", data);
      connection.frame("client", JSON.stringify(answer));
      connection.close("server", 1000, "");
    });
  const contract = loco as unknown as AnyContract;
  const of = async (recording: Recorded) =>
    (await verified(contract, recording)).findings.filter((one) => one.includes("answers nothing"));
  expect(await of(talk())).toHaveLength(1);
  expect(await of(talk(gzipSync("{}")))).toEqual([]);
});

it("is counted by its reason", () => {
  const all = new LeftOut();
  for (const content of [
    { size: 1, encoding: "gzip" },
    { size: 2, encoding: "gzip" },
    { size: MAX_CONTENT + 1 },
    { size: 3 },
  ])
    all.add(content);
  expect([all.count, String(all), JSON.stringify(all)]).toEqual([
    4,
    `2 encoded: gzip, 1 over the limit of ${MAX_CONTENT}, 1 by their size only`,
    `{"encoded: gzip":2,"over the limit of ${MAX_CONTENT}":1,"by their size only":1}`,
  ]);
});
