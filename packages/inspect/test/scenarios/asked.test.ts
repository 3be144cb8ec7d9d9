import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Conversations, type Entry } from "@parlance/recordings";
import { describe, expect, onTestFinished, test } from "vitest";
import { Caller, callOf } from "../../src/node/calls.js";
import { transcriptOf } from "../../src/node/case.js";
import { contract, ended, inspected, temporary } from "../harbour.js";

// What the page may ask of an inspector, and what it is answered.

const talk = new Conversations(contract, await contract.accepts());
const caller = new Caller(talk, "http://127.0.0.1:1/", { "X-Own": "1" });

/** A server on a port that answers every request with a status. */
async function answering(statusOf: () => number) {
  const asked: { readonly target: string; readonly headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    asked.push({ target: request.url!, headers: request.headers });
    response.writeHead(statusOf(), { "Content-Type": "application/json" });
    response.end(statusOf() === 204 ? undefined : '{"problem":"no such ship"}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}

describe("a call of the page", () => {
  test.each<[string, object, object | undefined]>([
    ["fits", { name: "say", parameters: { ship: "otter" }, body: '{"text":"hello"}' }, undefined],
    ["fits with a query", { name: "say", parameters: { ship: "otter", ticket: "1" }, body: '{"text":"a"}' }, undefined],
    ["breaks its schema", { name: "say", parameters: { ship: "otter" }, body: "{}" }, { at: [""] }],
    ["breaks a type", { name: "say", parameters: { ship: "otter" }, body: '{"text":1}' }, { at: ["/text"] }],
    ["is no JSON", { name: "say", parameters: { ship: "otter" }, body: "{" }, { at: expect.any(Array) }],
    ["opens a channel", { name: "radio", parameters: { ship: "otter" } }, undefined],
  ])("%s", (_, call, expected) => {
    const broken = caller.check(callOf({ ...call }));
    if (expected === undefined) expect(broken).toBeUndefined();
    else expect(broken).toMatchObject({ message: expect.stringMatching(/./), ...expected });
  });

  test.each([
    [{ name: "say", parameters: { ship: "" } }, "ship is empty, and it is a part of the path /say/{ship}"],
    [{ name: "say" }, "ship is empty, and it is a part of the path /say/{ship}"],
    [{ name: "none" }, "there is no operation or channel none"],
    [{ name: "constructor" }, "there is no operation or channel constructor"],
    [{ parameters: {} }, "name an operation and its parameters"],
    [{ name: "say", parameters: "x" }, "name an operation and its parameters"],
  ])("%j is refused: %s", (call, message) => {
    expect(() => caller.check(callOf(call))).toThrow(message);
  });

  test("has texts as parameters, and a body where it is one", () => {
    expect(callOf({ name: "a", parameters: { b: 1 }, body: "{}" })).toEqual({
      name: "a",
      parameters: { b: "1" },
      body: "{}",
    });
    expect(callOf({ name: "a", body: {} })).toEqual({ name: "a", parameters: {} });
  });

  test("is made with the credentials of another, but for the parameters that are given", async () => {
    const { url, asked } = await answering(() => 204);
    const credential = {
      headers: [
        ["Authorization", "Bearer a"],
        ["X-Own", "2"],
      ],
      query: [
        ["ticket", "theirs"],
        ["api_key", "k"],
      ],
    } as const;
    const made = new Caller(talk, url, { "X-Own": "1", "X-Other": "3" });
    const call = { name: "say", parameters: { ship: "otter", ticket: "mine" }, body: "{}" };
    await made.make({ ...call, credential });
    await made.make(call);
    expect(asked.map(({ target }) => target)).toEqual(["/say/otter?ticket=mine&api_key=k", "/say/otter?ticket=mine"]);
    expect(asked[0]!.headers).toMatchObject({ authorization: "Bearer a", "x-own": "2", "x-other": "3" });
    expect(asked[1]!.headers).toMatchObject({ "x-own": "1", "x-other": "3" });
    expect(asked[1]!.headers).not.toHaveProperty("authorization");
  });

  test.each([
    [200, { ok: true, text: "200: accepted" }],
    [204, { ok: true, text: "204: accepted" }],
    [302, { ok: false, text: "302: a redirect, which is not followed" }],
    [401, { ok: false, text: "401: [no such ship]" }],
    [503, { ok: false, text: "503: [no such ship]" }],
  ])("has the outcome of %i, with the reason of a refusal", async (status, outcome) => {
    const { url } = await answering(() => status);
    const made = new Caller(talk, url, {}, (text, headers) => (headers.length > 0 ? `[${text}]` : text));
    expect(await made.make({ name: "say", parameters: { ship: "otter" }, body: "{}" })).toEqual(outcome);
  });

  test.each([
    [401, { ok: false, text: "401: [no such ship]" }],
    [426, { ok: false, text: "426: [no such ship]" }],
    [503, { ok: false, text: "503: [no such ship]" }],
  ])("of a channel has the outcome of %i, with the reason of the refusal", async (status, outcome) => {
    const { url } = await answering(() => status);
    const made = new Caller(talk, url, {}, (text) => `[${text}]`);
    expect(await made.make({ name: "radio", parameters: { ship: "otter" } })).toEqual(outcome);
  });

  test("that reaches no server is answered with the reason", async () => {
    await expect(caller.make({ name: "say", parameters: { ship: "a" }, body: "{}" })).rejects.toMatchObject({
      name: "BadRequest",
      code: "bad_request",
      message: expect.stringMatching(/^the call failed: .+/),
    });
    await expect(caller.make({ name: "radio", parameters: { ship: "a" } })).rejects.toMatchObject({
      message: expect.stringMatching(/^the channel was not opened: .+/),
    });
  });
});

test.each<[string, string, object | undefined]>([
  ["radio", '{"kind":"hail","name":"Otter"}', undefined],
  ["radio", '{"kind":"hail"}', { at: [""] }],
  ["radio", '{"kind":"hail","name":1}', { at: ["/name"] }],
  ["radio", '{"kind":"later"}', { message: "the contract has no such message", at: [] }],
])("a message on %s, %s, is judged before it is sent", (channel, text, broken) => {
  const found = caller.checkFrame(channel, text);
  if (broken === undefined) expect(found).toBeUndefined();
  else expect(found).toMatchObject(broken);
  expect(() => caller.checkFrame("none", text)).toThrow("there is no channel none");
});

const client = { t: 0, c: 1, from: "client" } as const;
const server = { t: 0, c: 1, from: "server" } as const;
const stream = [["Content-Type", "text/event-stream; charset=utf-8"]] as const;
const say: readonly Entry[] = [
  { ...client, kind: "request", method: "POST", target: "/say/otter", headers: [["Content-Type", "application/json"]] },
  { ...client, kind: "body", text: '{"text":"hello"}' },
];
const radio: Entry = { ...client, kind: "request", method: "GET", target: "/radio/otter", headers: [], socket: true };
const note = { note: "A note." };
const called = { from: "client", call: "say", input: { ship: "otter", text: "hello" } };
const request = { method: "POST", target: "/say/otter", body: '{"text":"hello"}' };

test.each<[string, readonly Entry[], readonly object[]]>([
  [
    "a stream",
    [
      ...say,
      { ...server, kind: "response", status: 200, headers: stream },
      { ...server, kind: "event", text: '{"kind":"word","text":"a"}' },
      { ...server, kind: "event", text: '{"kind": "over"}' },
      { ...server, kind: "event", text: '{"kind":"later"}' },
      { ...server, kind: "end" },
    ],
    [
      { ...called, request },
      { from: "server", wire: 'data: {"kind":"word","text":"a"}\n\n', message: { type: "word", text: "a" } },
      { from: "server", wire: 'data: {"kind": "over"}\n\n', message: { type: "over" }, read: true },
      { from: "server", wire: 'data: {"kind":"later"}\n\n', unknown: true },
    ],
  ],
  [
    "a refusal",
    [
      ...say,
      { ...server, kind: "response", status: 404, headers: [["Content-Type", "application/json; charset=utf-8"]] },
      { ...server, kind: "body", text: '{"problem":"no"}' },
    ],
    [
      { ...called, request },
      { from: "server", status: 404, type: "application/json", body: '{"problem":"no"}' },
    ],
  ],
  [
    "an answer without a body",
    [...say, { ...server, kind: "response", status: 503, headers: [] }],
    [
      { ...called, request },
      { from: "server", status: 503, body: "" },
    ],
  ],
  [
    "a request that is written otherwise",
    [say[0]!, { ...client, kind: "body", text: '{ "text": "hello" }' }, { ...server, kind: "error", text: "lost" }],
    [
      { ...called, request: { ...request, body: '{ "text": "hello" }' }, read: true },
      { from: "server", end: "cut" },
    ],
  ],
  [
    "a request that breaks the contract",
    [say[0]!, { ...client, kind: "body", text: "{}" }],
    [{ from: "client", call: "say", input: {}, request: { ...request, body: "{}" }, read: true }],
  ],
  [
    "a channel that its client closes",
    [
      radio,
      { ...server, kind: "response", status: 101, headers: [] },
      { ...client, kind: "frame", text: '{"kind":"hail","name":"Otter"}' },
      { ...server, kind: "frame", text: "{" },
      { ...client, kind: "close", code: 1000, reason: "" },
      { ...server, kind: "close", code: 1000, reason: "" },
    ],
    [
      { from: "client", call: "radio", input: { ship: "otter" }, request: { method: "GET", target: "/radio/otter" } },
      { from: "client", wire: '{"kind":"hail","name":"Otter"}', message: { type: "hail", name: "Otter" } },
      { from: "server", wire: "{", unknown: true },
      { from: "client", end: "close" },
    ],
  ],
])("a transcript is made of %s", (_, entries, lines) => {
  const text = transcriptOf(talk, entries, "A note.");
  expect(text.endsWith("\n")).toBe(true);
  expect(
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([note, ...lines]);
});

test("a transcript is made of no connection whose request is gone, or of no path of the contract", () => {
  expect(() => transcriptOf(talk, say.slice(1), "")).toThrow("the connection's request is no longer held");
  const other: Entry = { ...client, kind: "request", method: "GET", target: "/other", headers: [] };
  expect(() => transcriptOf(talk, [other], "")).toThrow("the contract has no GET /other");
});

describe("the page's interface", () => {
  const wrong: readonly [path: string, body: object, error: string][] = [
    [
      "/api/call",
      { name: "say", parameters: { ship: "a" }, times: 0, force: true },
      "repeat it between 1 and 1000 times",
    ],
    [
      "/api/call",
      { name: "say", parameters: { ship: "a" }, times: 1001, force: true },
      "repeat it between 1 and 1000 times",
    ],
    [
      "/api/call",
      { name: "say", parameters: { ship: "a" }, times: 1.5, force: true },
      "repeat it between 1 and 1000 times",
    ],
    ["/api/fault", { connection: 1, fault: "other" }, "name a fault: cut, stall, slow, release, duplicate, malformed"],
    ["/api/fault", { connection: 9, fault: "cut" }, "connection 9 is not open"],
    ["/api/fault", { connection: 0, fault: "cut" }, "choose a connection; if none is open, open the channel first"],
    ["/api/frame", { connection: 0, channel: "radio", text: "{}", force: true }, "choose a connection"],
    ["/api/case", { log: "live", connection: 1, name: "a" }, "there is no folder for transcripts"],
    ["/api/replay/stop", { id: "x" }, "this replay has ended"],
    ["/api/replay", { log: "none", as: "server" }, "this log is not open"],
    ["/api/apply", { review: "x", changes: [] }, "this review is no longer open"],
    ["/api/apply", { review: "x" }, "say which changes"],
    ["/api/undo", { review: "x" }, "this review is no longer open"],
  ];
  const reads: readonly [path: string, status: number, text: string][] = [
    ["/api/entry?log=live&n=99", 400, "this entry is no longer held"],
    ["/api/entry?log=none&n=1", 400, "this log is not open"],
    ["/api/none", 404, "not here"],
  ];

  test("says what is wrong with what it is asked, and sends its headers with everything", async () => {
    const { post, get, origin } = await inspected();
    for (const [path, body, error] of wrong)
      expect([path, (await post(path, body)).error]).toEqual([path, expect.stringContaining(error)]);
    for (const [path, status, text] of reads) {
      const response = await get(path);
      expect([path, response.status, await response.text()]).toEqual([path, status, expect.stringContaining(text)]);
    }
    for (const path of ["/", "/api/state", "/api/none", "/api/entry?log=live&n=99"])
      expect(Object.fromEntries((await get(path)).headers)).toMatchObject({
        "content-security-policy": expect.stringContaining("default-src 'none'"),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-store",
      });
    expect((await fetch(`${origin}/api/state`)).status).toBe(403);
    expect((await fetch(`${origin}/`, { method: "POST" })).status).toBe(403);
  });

  test("makes a call with its query, writes its case, opens its recording by a name, and replays it with its own headers", async () => {
    const cases = await temporary();
    const { post, get, rows, origin, url, headers } = await inspected({ cases, headers: { "X-Request-Id": "mine" } });
    const call = { name: "say", parameters: { ship: "otter", ticket: "7" }, body: '{"text":"hello"}' };
    expect(await post("/api/call", call)).toEqual({ outcome: { ok: true, text: "200: accepted" } });
    const [asked] = await rows(ended);
    expect(asked).toMatchObject({ n: 1, kind: "request", text: expect.stringMatching(/^POST \/say\/otter\?ticket=./) });

    const { file } = await post("/api/case", { log: "live", connection: 1, name: "hello" });
    expect(file).toBe(join(cases, "hello.jsonl"));
    const [note] = (await readFile(file, "utf8")).split("\n");
    expect(JSON.parse(note!)).toEqual({ note: `Taken from ${url}, connection 1.` });

    const saved = await (await get("/api/export?log=live&as=jsonl")).text();
    // Without its end line, as another value of the header is another file.
    const body = saved.replace('"mine"', '"old"').replace(/[^\n]*\n$/, "");
    const opened = async (query: string) =>
      (await fetch(`${origin}/api/open${query}`, { method: "POST", headers, body })).json();
    expect(await opened("")).toMatchObject({ name: "recording", live: false });
    const { id, name } = await opened("?name=talk.jsonl");
    expect(name).toBe("talk.jsonl");
    await post("/api/replay", { log: id, as: "client" });
    const again = (await rows((all) => all.some(({ c }) => c === 2))).find(({ c }) => c === 2);
    const entry = await (await get(`/api/entry?log=live&n=${again!.n}`)).json();
    expect(entry.headers).toContainEqual(["X-Request-Id", "mine"]);
    expect(entry.headers).not.toContainEqual(["X-Request-Id", "old"]);
  });

  test("has in its state the contract with the sentences of its calls, and the address of its proxy", async () => {
    const { get, url, proxy } = await inspected();
    const state = await (await get("/api/state")).json();
    expect(state).toMatchObject({
      contract: { name: "harbour", summaries: { say: "Say something to the harbour.", radio: "Talk to the pilot." } },
      target: url,
      proxy,
      logs: [{ id: "live", name: url, live: true }],
    });
    expect(state).not.toHaveProperty("cases");
  });
});
