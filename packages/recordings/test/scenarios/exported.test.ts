import { expect, test } from "vitest";
import { Exchanges } from "../../src/export/connections.js";
import { har } from "../../src/export/har.js";
import { markdown } from "../../src/export/markdown.js";
import type { Entry, Happening, Header } from "../../src/recording.js";

// One conversation of each kind, in both forms that a recording is exported to.

const header: Header = {
  recording: 1,
  contract: { name: "ferry", digest: `sha256:${"0123456789abcdef".repeat(4)}` },
  versions: { "@parlance/cli": "1.2.3", node: "22.0.0" },
  began: "2026-01-01T00:00:00.000Z",
  redacted: ["tokens | keys", "two\nlines"],
};

let now = 0;
function at(c: number, from: "client" | "server", happening: Happening, later = 10): Entry {
  now += later;
  return { t: now, c, from, ...happening };
}
const json = [["Content-Type", "application/json"]] as const;
const stream = [["content-type", "Text/Event-Stream; charset=utf-8"]] as const;

const entries: readonly Entry[] = [
  at(1, "client", {
    kind: "request",
    method: "POST",
    target: "/book?deck=upper&deck=lower&x",
    headers: [...json, ["X", "1"]],
  }),
  at(1, "client", { kind: "body", text: '{"näme":"``` Ann"}' }),
  at(2, "client", { kind: "request", method: "GET", target: "/ferry`s", headers: [] }),
  at(1, "server", { kind: "response", status: 201, headers: json }),
  at(1, "server", { kind: "body", text: '{"number":"ä`1"}' }),
  at(2, "server", { kind: "response", status: 200, headers: stream }),
  at(2, "server", { kind: "comment", text: ": beat\n\n" }),
  at(2, "server", { kind: "event", event: "moved", id: "7", text: "{}" }),
  at(1, "server", { kind: "end" }),
  at(2, "server", { kind: "event", text: "a\tb\r\nc" }),
  at(2, "server", { kind: "event", event: "raw", text: "x", raw: "event:raw\ndata:x\n\n" }),
  at(2, "server", { kind: "error", text: "the connection\nwas lost" }),
  at(3, "client", {
    kind: "request",
    method: "GET",
    target: "/deck?a=b",
    headers: [["Upgrade", "websocket"]],
    socket: true,
  }),
  at(3, "server", { kind: "response", status: 101, headers: [] }),
  at(3, "client", { kind: "frame", text: "`hello`" }),
  at(3, "server", { kind: "frame", base64: "AAEC" }),
  at(3, "server", { kind: "ping" }),
  at(3, "client", { kind: "pong" }),
  at(3, "server", { kind: "frame", text: "" }),
  at(3, "client", { kind: "close", code: 1000, reason: "`bye" }),
  at(3, "server", { kind: "close", code: 1005, reason: "" }),
  at(4, "client", { kind: "request", method: "GET", target: "/left", headers: [] }),
  at(4, "server", { kind: "response", status: 200, headers: [["Content-Type", "text/plain"]] }),
  at(4, "server", { kind: "body", size: 12, encoding: "br" }),
  at(4, "server", { kind: "body", text: "y".repeat(2001) }),
  at(4, "server", { kind: "end" }, 10.6),
  at(5, "client", { kind: "request", method: "OPTIONS", target: "*", headers: [] }),
  at(5, "client", { kind: "body", text: "z".repeat(2001) }),
  at(6, "client", { kind: "request", method: "GET", target: "/open", headers: [], socket: true }),
  at(6, "server", { kind: "close", code: 1011, reason: "" }),
  at(7, "client", { kind: "request", method: "GET", target: "/size", headers: [] }),
  at(7, "server", { kind: "response", status: 200, headers: [] }),
  at(7, "server", { kind: "body", size: 3 }),
  at(7, "server", { kind: "end" }),
];

/** Entries that belong to no request are passed over. */
const stray = at(9, "server", { kind: "end" });

const exported = () => {
  const connections: Parameters<ConstructorParameters<typeof Exchanges>[0]>[0][] = [];
  const exchanges = new Exchanges((one) => connections.push(one));
  for (const entry of [stray, ...entries]) exchanges.entry(entry);
  const over = connections.map(({ request }) => request.c);
  exchanges.end();
  return { connections, over };
};

test("a connection is exported when it is over, and an open one at the end", () => {
  const { connections, over } = exported();
  expect(over).toEqual([1, 2, 3, 4, 7]);
  expect(connections.map(({ request }) => request.c)).toEqual([1, 2, 3, 4, 7, 5, 6]);
  expect(connections[0]).toMatchObject({ sent: { text: '{"näme":"``` Ann"}' }, response: { status: 201 }, until: 90 });
  expect(connections[5]).toMatchObject({ until: 270.6 + 10 });
});

test("a HAR file has each connection with its times, headers, texts and messages", async () => {
  const texts = exported().connections.map((one) => JSON.parse(har.connection(header, one, "https://ferry.test/base")));
  await expect(`${JSON.stringify(texts, null, 1)}\n`).toMatchFileSnapshot("../listed/exported.har.txt");
  const whole = JSON.parse(
    `${har.begin(header)}${JSON.stringify(texts[0])}${har.end({ state: "complete", lines: 1 })}`,
  );
  expect(whole.log).toEqual({
    version: "1.2",
    creator: { name: "@parlance/cli", version: "1.2.3" },
    entries: [texts[0]],
  });
  const cut = JSON.parse(
    har.begin({ ...header, versions: {} }) + har.end({ state: "cut", reason: "no end", lines: 1 }),
  );
  expect(cut.log).toEqual({
    version: "1.2",
    creator: { name: "parlance", version: "" },
    entries: [],
    comment: "the recording is cut: no end",
  });
});

test("a Markdown file has a heading for each connection, and a line for each message", async () => {
  const { connections } = exported();
  const bare: Header = { recording: 1, versions: {}, began: header.began, redacted: [] };
  const text = [
    markdown.begin(header),
    ...connections.map((one) => markdown.connection(header, one, "")),
    markdown.end({ state: "complete", lines: 1 }),
    markdown.end({ state: "altered", reason: "line 3", lines: 1 }),
    markdown.begin(bare),
    markdown.begin({ ...bare, contract: { name: "short" } }),
  ];
  await expect(text.join("--\n")).toMatchFileSnapshot("../listed/exported.txt");
});
