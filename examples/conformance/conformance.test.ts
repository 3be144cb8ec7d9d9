import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ClientLine, Result, ServerPeer, Told } from "@parlance/conformance";
import { ordered } from "@parlance/conformance/internal/run";
import { runCases } from "@parlance/conformance/node";
import { contractValue } from "@parlance/language/value";
import { describe, expect, onTestFinished, test } from "vitest";
import { limited } from "./broken/clients.js";
import { brokenServer } from "./broken/servers.js";
import { caller } from "./caller.js";
import { listenFixture } from "./fixture.js";
import { type Case, contracts, forFixtures, long, notGreen, SEED, suiteAt } from "./suites.js";

// Our server and client hold every contract's suite.

/** By default a part of a long suite. */
function some<C extends Case>(cases: readonly C[], most: number): C[] {
  return long ? [...cases] : ordered(cases, SEED).slice(0, most);
}

/** By default a case of each kind: ids differ in the call and what it is tried with, such as `client/send/cut/1`. */
function kinds<C extends Case>(cases: readonly C[]): C[] {
  if (long) return [...cases];
  const kindOf = ({ id }: C) => id.split("/")[id.includes("/transcript/") ? 1 : 2];
  return [...new Map(ordered(cases, SEED).map((one) => [kindOf(one), one])).values()];
}

describe.each(contracts)("%s", (name) => {
  test("our server passes the suite", async () => {
    const { document, suite } = await suiteAt(name);
    const server = await listenFixture(contractValue(document));
    onTestFinished(() => server.close());
    expect(await notGreen(suite, some(forFixtures(suite.server), 12), { server, wait: 20_000 })).toEqual([]);
  });

  test("our client passes the suite", async () => {
    const { document, suite } = await suiteAt(name);
    const ours = caller(contractValue(document));
    const client = { ...ours, call: (line: Parameters<typeof ours.call>[0]) => limited(ours, line, 20_000) };
    expect(await notGreen(suite, some(suite.client, 12), { client, wait: 20_000 })).toEqual([]);
  });

  test("every case has an id of its own, a place and a fault", async () => {
    const { suite } = await suiteAt(name);
    const all = [...suite.server, ...suite.client];
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.filter(({ at, kill, title }) => !at || !kill || !title)).toEqual([]);
  });
});

const none: readonly [string, (url: string) => Promise<Told>][] = [
  ["calls nothing", async () => ({ messages: [], error: null })],
  ["calls nothing and reports a lost connection", async () => ({ messages: [], error: { kind: "disconnected" } })],
  [
    "calls another path",
    async (url) => {
      await fetch(`${url}/parlance-no-such-path`).catch(() => {});
      return { messages: [], error: { kind: "disconnected" } };
    },
  ],
];

test.each(contracts.flatMap((name) => none.map(([what, call]) => ({ name, what, call }))))(
  "a client of $name that $what passes no case",
  async ({ name, call }) => {
    const { suite } = await suiteAt(name);
    const client = { call: ({ url }: ClientLine) => call(url), close: async () => {} };
    const results = await runCases(suite, kinds(suite.client), { client, wait: 500 });
    expect(results.filter(({ outcome }) => outcome !== "failed").map(({ id }) => id)).toEqual([]);
  },
);

test.each(contracts)(
  "a server of %s that answers 404 to everything passes only the cases that expect it",
  async (name) => {
    const { document, suite } = await suiteAt(name);
    const server = createServer((_, response) => {
      response.writeHead(404, { "Content-Type": "application/json" }).end('{"error":"no"}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const peer: ServerPeer = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      fixture: { begin: async () => {}, report: async () => [] },
      close: async () => {},
    };
    const cases = forFixtures(suite.server).filter(({ level }) => level === "must");
    const results = await runCases(suite, kinds(cases), { server: peer, wait: 500 });
    const expects404 = ({ id, title }: Result) => {
      const [, kind, transcript, line] = id.split("/");
      if (kind !== "transcript") return title.includes("404");
      const answer = document.transcripts[transcript!]!.slice(Number(line)).find((one) => "status" in one);
      return answer !== undefined && "status" in answer && answer.status === 404;
    };
    const passed = results.filter(({ outcome }) => outcome === "passed");
    expect(passed.filter((one) => !expects404(one)).map(({ id }) => id)).toEqual([]);
  },
);

test.each([
  { what: "none of what came", messages: (_all: Told["messages"]) => [], outcome: "passed" },
  { what: "the first of what came", messages: (all: Told["messages"]) => all.slice(0, 1), outcome: "passed" },
  { what: "the last of what came", messages: (all: Told["messages"]) => all.slice(1), outcome: "failed" },
  { what: "more than came", messages: (all: Told["messages"]) => [...all, ...all], outcome: "failed" },
])("the case of a cut, for a client that reports $what before it, is $outcome", async ({ messages, outcome }) => {
  const { document, suite } = await suiteAt("fold-gateway");
  const ours = caller(contractValue(document));
  const client: typeof ours = {
    ...ours,
    async call(line) {
      const told = await ours.call(line);
      return told.error ? { ...told, messages: messages(told.messages) } : told;
    },
  };
  const cases = suite.client.filter(({ id }) => id === "client/send/cut/3");
  expect(await runCases(suite, cases, { client })).toMatchObject([{ outcome }]);
});

test.each([
  { fails: 0, listed: true, outcome: "passed" },
  { fails: 1, listed: true, outcome: "flaky" },
  { fails: 2, listed: true, outcome: "flaky" },
  { fails: 3, listed: true, outcome: "failed" },
  { fails: 1, listed: false, outcome: "failed" },
])(
  "a case that fails $fails times, on the list of flaky ones: $listed, is $outcome",
  async ({ fails, listed, outcome }) => {
    const { document, suite } = await suiteAt("fold-gateway");
    const ours = caller(contractValue(document));
    let left = fails;
    const client: typeof ours = {
      ...ours,
      call: async (line) => (left-- > 0 ? { messages: [], error: { kind: "disconnected" } } : ours.call(line)),
    };
    const cases = suite.client.filter(({ id }) => id === "client/health/answer/0");
    const flaky = listed ? [{ pattern: "client/health/**", reason: "a slow start" }] : [];
    const [result] = await runCases(suite, cases, { client, flaky });
    expect(result).toMatchObject({ outcome, ...(outcome === "flaky" && { reason: "a slow start" }) });
  },
);

test("a live server is asked without a fixture: what it answers otherwise than its schema says is found", async () => {
  const { document, suite } = await suiteAt("fold-gateway");
  const good = await listenFixture(contractValue(document));
  onTestFinished(() => good.close());
  const live = suite.server.filter((one) => one.live !== undefined);
  const run = (server: typeof good) =>
    runCases(suite, live, { server: { url: server.url, close: server.close }, wait: 5000, allowWrites: false });
  await good.fixture!.begin({
    case: "live",
    acts: suite.server.find(({ id }) => id === "server/listAgents/answer/0")!.acts,
  });
  const results = await run(good);
  expect(results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id)).toEqual([]);
  expect(results.find(({ id }) => id === "server/send/live")?.outcome).toBe("skipped");
  expect(results.find(({ id }) => id === "server/listAgents/live")?.outcome).toBe("passed");

  const { peer } = await brokenServer(document, "alter-answer");
  onTestFinished(() => peer.close());
  await peer.fixture!.begin({
    case: "live",
    acts: suite.server.find(({ id }) => id === "server/listAgents/answer/0")!.acts,
  });
  const wrong = await run(peer as typeof good);
  expect(wrong.filter(({ outcome }) => outcome === "failed").map(({ id }) => id)).toEqual(["server/listAgents/live"]);
});
