import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { type ContractDocument, misuse, Violation } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { vaultFiles } from "../../../cli/test/vault-files.js";
import { ferry } from "../../../recordings/test/ferry.js";
import { type ClientCase, meet, NotOffered, type ServerCase, Unmet } from "../../src/case.js";
import { suiteOf } from "../../src/cases.js";
import { Broken } from "../../src/node/program.js";
import { type RunOptions, runCases } from "../../src/node/run.js";
import type { ClientLine, ServerLine } from "../../src/peer.js";
import type { Result } from "../../src/result.js";
import type { TestedClient, TestedServer } from "../../src/tested.js";

// How cases are put to a peer, and what is reported of each.

const about = { level: "must", title: "it does", at: "contract.json#/a", kill: "alter" } as const;
const acts = [{ call: "notice", steps: [{ answer: "x" }] }];
const serverCase = (run: (peer: TestedServer) => Promise<void>, more: Partial<ServerCase> = {}): ServerCase => ({
  ...about,
  id: "server/one",
  side: "server",
  acts,
  run,
  ...more,
});
const clientCase = (run: (peer: TestedClient) => Promise<void>): ClientCase => ({
  ...about,
  id: "client/one",
  side: "client",
  run,
});

const suiteFor = (document: ContractDocument) => suiteOf({ ...document, transcripts: {} }, contractValue);
const suite = await suiteFor(ferry);
const vault = await suiteFor(assemble({ name: "vault", files: vaultFiles }));

/** A fixture that begins every case, and the lines that it got. */
function fixture() {
  const lines: ServerLine[] = [];
  const reported: string[] = [];
  const begin = async (line: ServerLine) => void lines.push(line);
  const report = async (id: string) => {
    reported.push(id);
    return [];
  };
  return { lines, reported, server: { url: "http://127.0.0.1:1", fixture: { begin, report }, close: async () => {} } };
}

const runServer = async (one: ServerCase, options: Partial<RunOptions> = {}) =>
  (await runCases(suite, [one], { server: fixture().server, ...options }))[0]!;

const violation = new Violation("ferry: no", { code: "schema", protocol: "ferry", side: "server" });
describe("a case that", () => {
  test.each<[string, () => void, object]>([
    ["holds has passed", () => {}, { outcome: "passed" }],
    [
      "is not met has failed",
      () => meet(false, "a status", { status: 500 }),
      { outcome: "failed", expected: "a status", came: '{"status":500}' },
    ],
    ["got nothing has failed", () => meet(false, "all", undefined), { outcome: "failed", came: "undefined" }],
    [
      "got a long text has it in part",
      () => meet(false, "less", "x".repeat(2001)),
      { outcome: "failed", came: `${"x".repeat(2000)}…` },
    ],
    [
      "got a text of 2000 characters has it whole",
      () => meet(false, "less", "x".repeat(2000)),
      { outcome: "failed", came: "x".repeat(2000) },
    ],
    [
      "got a violation has failed",
      () => {
        throw violation;
      },
      { outcome: "failed", expected: "what the contract defines", came: violation.message },
    ],
    [
      "got what is too deep has failed",
      () => {
        throw new RangeError("too deep");
      },
      { outcome: "failed", expected: "a value that can be read", came: "too deep" },
    ],
    [
      "lost its program has failed",
      () => {
        throw new Broken("a line", "it ended with 3");
      },
      { outcome: "failed", expected: "a line", came: "it ended with 3" },
    ],
    [
      "is about what the peer does not offer is skipped",
      () => {
        throw new NotOffered("no notice");
      },
      { outcome: "skipped", reason: "no notice" },
    ],
  ])("%s", async (_, run, result) => {
    const found = await runServer(serverCase(async () => run()));
    expect(found).toMatchObject({ ...about, id: "server/one", side: "server", ...result });
    expect("trace" in found).toBe(found.outcome === "failed");
    expect(found.ms).toBeGreaterThanOrEqual(0);
  });

  test("has another error ends the run with it", async () => {
    const one = serverCase(async () => {
      throw misuse("a defect");
    });
    await expect(runServer(one)).rejects.toThrow("a defect");
  });
});

const known = [{ pattern: "server/*", reason: "issue 5" }];
const failing = serverCase(async () => meet(false, "a", "b"));
const passing = serverCase(async () => {});
test.each<[string, ServerCase, Partial<RunOptions>, object]>([
  ["a known failure", failing, { known }, { outcome: "known", reason: "issue 5", expected: "a", came: "b" }],
  [
    "a known failure that passes",
    passing,
    { known },
    {
      outcome: "fixed",
      expected: "a failure: server/* is on the list of known failures",
      came: "it passed: take it off the list",
      reason: "issue 5",
    },
  ],
  ["a failure of another list", failing, { known: [{ pattern: "client/*" }] }, { outcome: "failed" }],
  ["a flaky case that passes", passing, { flaky: known }, { outcome: "passed" }],
  ["a flaky case that fails each time", failing, { flaky: known }, { outcome: "failed" }],
  ["a case that is flaky and known", failing, { flaky: known, known }, { outcome: "known" }],
])("%s is reported as such", async (_, one, options, result) => {
  expect(await runServer(one, options)).toMatchObject(result);
});

test.each([
  [1, "flaky"],
  [2, "flaky"],
  [3, "failed"],
])("a flaky case that fails %i times is %s after three runs at most", async (fails, outcome) => {
  let runs = 0;
  const one = serverCase(async () => meet(++runs > fails, "a", runs));
  expect(await runServer(one, { flaky: known })).toMatchObject({ outcome, expected: "a", came: String(fails) });
  expect(runs).toBe(Math.min(3, fails + 1));
});

test("the command that runs a case again stands with what failed only", async () => {
  const rerun = (id: string) => `again ${id}`;
  expect(await runServer(failing, { rerun })).toMatchObject({ rerun: "again server/one" });
  expect(await runServer(passing, { rerun })).not.toHaveProperty("rerun");
  expect(await runServer(failing)).not.toHaveProperty("rerun");
});

test("results are reported one by one, and a run that is stopped judges no further case", async () => {
  const controller = new AbortController();
  const told: string[] = [];
  const ids = ["a", "b", "c"];
  const cases = ids.map((id) =>
    serverCase(
      async () => {
        if (id === "b") controller.abort();
      },
      { id },
    ),
  );
  const onResult = ({ id }: { id: string }) => void told.push(id);
  const options = { server: fixture().server, onResult };
  expect((await runCases(suite, cases, { ...options, signal: controller.signal })).map(({ id }) => id)).toEqual(["a"]);
  expect((await runCases(suite, cases, options)).map(({ id }) => id)).toEqual(ids);
  expect(told).toEqual(["a", ...ids]);
});

describe("a fixture", () => {
  test("begins each case with its acts and the token, and reports by the case's id", async () => {
    const { server, lines, reported } = fixture();
    const one = serverCase(async (peer) => {
      expect({ live: peer.live, wait: peer.wait }).toEqual({ live: false, wait: 5000 });
      await peer.report();
    });
    await runCases(suite, [one], { server });
    await runCases(suite, [one], { server, token: "mine" });
    expect(lines).toEqual([
      { case: "server/one", acts, token: "conformance" },
      { case: "server/one", acts, token: "mine" },
    ]);
    expect(reported).toEqual(["server/one", "server/one"]);
  });

  test("gets no token where the contract has none", async () => {
    const { server, lines } = fixture();
    const { auth: _, ...source } = ferry.source as { auth?: unknown };
    const { auth: __, ...contract } = ferry.contract;
    const open = await suiteFor({ ...ferry, source, contract } as ContractDocument);
    await runCases(open, [passing], { server });
    expect(lines).toEqual([{ case: "server/one", acts }]);
  });

  test("is not put to a case of a live server", async () => {
    const result = await runServer(serverCase(async () => {}, { acts: [], live: true }));
    expect(result).toMatchObject({ outcome: "skipped", reason: "is for live servers (--server)" });
  });

  test("that has answered none of its first three cases ends the run", async () => {
    const begin = async () => {
      throw new Broken("an answer", "it ended");
    };
    const server = { ...fixture().server, fixture: { begin, report: async () => [] } };
    const told: string[] = [];
    const cases = [1, 2, 3, 4].map((id) => serverCase(async () => {}, { id: String(id) }));
    const run = runCases(suite, cases, { server, onResult: ({ id }) => void told.push(id) });
    await expect(run).rejects.toMatchObject({
      name: "Broken",
      expected: "answer to its first 3 cases",
      came: "it ended",
    });
    expect(told).toEqual(["1", "2", "3"]);
  });
});

test.each<[string, Partial<ServerCase>, Partial<RunOptions>, object]>([
  ["a case that needs a fixture", {}, {}, { outcome: "skipped", reason: "needs a fixture (--server-cmd)" }],
  ["a case that sends nothing", { live: true }, {}, { outcome: "passed" }],
])("of a live server %s", async (_, more, options, result) => {
  const server = { url: "http://127.0.0.1:1", close: async () => {} };
  const one = serverCase(async (peer) => meet(peer.live, "a live server", peer.live), more);
  expect(await runServer(one, { server, ...options })).toMatchObject(result);
});

test.each<[string, (peer: TestedServer) => Promise<unknown>, boolean]>([
  ["GET", (peer) => peer.request({ method: "GET", target: "/" }), true],
  ["GET of a stream", (peer) => peer.open({ method: "GET", target: "/" }), true],
  ["POST", (peer) => peer.request({ method: "POST", target: "/", body: "{}" }), false],
  ["POST of a stream", (peer) => peer.open({ method: "POST", target: "/", body: "{}" }), false],
  ["DELETE", (peer) => peer.request({ method: "DELETE", target: "/" }), false],
  ["WebSocket", (peer) => peer.socket({ method: "GET", target: "/" }), false],
])("a %s reaches a live server without --allow-writes, or does not", async (_, send, isSent) => {
  let requests = 0;
  const made = createServer((_, response) => {
    requests++;
    response.end();
  });
  made.on("upgrade", (_, socket) => {
    requests++;
    socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void made.close());
  const server = { url: `http://127.0.0.1:${(made.address() as AddressInfo).port}`, close: async () => {} };
  const one = serverCase(async (peer) => void (await send(peer)), { live: true });
  const skipped = { outcome: "skipped", reason: "may have an effect (--allow-writes)" };
  expect(await runServer(one, { server })).toMatchObject(isSent ? { outcome: "passed" } : skipped);
  expect(requests).toBe(isSent ? 1 : 0);
  expect(await runServer(one, { server, allowWrites: true })).toMatchObject({ outcome: "passed" });
});

describe("a server that is hostile", () => {
  const flood = (response: ServerResponse) => {
    const piece = Buffer.alloc(65_536, 97);
    const more = () => {
      while (response.write(piece));
    };
    response.on("drain", more);
    more();
  };
  const drip = (response: ServerResponse) => {
    const dripping = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(dripping));
  };

  test.each<[how: string, answer: (response: ServerResponse) => void]>([
    ["answers nothing", () => {}],
    ["never ends its answers", drip],
    ["sends without end", flood],
  ])("and %s ends the run", async (_, answer) => {
    const server = createServer((_, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      answer(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const run = async (peer: TestedServer) => void (await peer.request({ method: "GET", target: "/" }));
    const cases = Array.from({ length: 100 }, (_, i) => serverCase(run, { id: String(i), live: true }));
    const results: Result[] = [];
    const options = { server: { url, close: async () => {} }, wait: 50, caseWithin: 200 };
    const over = runCases(suite, cases, { ...options, onResult: (result) => void results.push(result) });
    await expect(over).rejects.toMatchObject({ name: "Spent", message: /^6 cases in a row ended at a limit/ });
    expect(results.map(({ outcome }) => outcome)).toEqual(Array(6).fill("failed"));
  });

  test("and takes long ends the run at its limit", async () => {
    const cases = Array.from({ length: 1000 }, (_, i) => serverCase(() => after(5), { id: String(i) }));
    const run = runCases(suite, cases, { server: fixture().server, runWithin: 100 });
    await expect(run).rejects.toMatchObject({ name: "Spent", message: "the run took its 100 ms" });
  });

  test("ends no run in which cases still pass", async () => {
    const late = async () => meet(false, "a", "b");
    const cases = Array.from({ length: 20 }, (_, i) =>
      serverCase(
        async () => {
          if (i % 6 !== 5) throw new Unmet("a", "nothing", true);
        },
        { id: String(i) },
      ),
    );
    const results = await runCases(suite, [...cases, serverCase(late)], { server: fixture().server });
    expect(results).toHaveLength(21);
  });

  test("ends no run whose cases are known to end at a limit", async () => {
    const stuck = async () => {
      throw new Unmet("a", "nothing", true);
    };
    const cases = Array.from({ length: 20 }, (_, i) => serverCase(stuck, { id: `known/${i}` }));
    const options = { server: fixture().server, known: [{ pattern: "known/*" }] };
    const results = await runCases(suite, cases, options);
    expect(results.map(({ outcome }) => outcome)).toEqual(Array(20).fill("known"));
    const others = cases.map((one) => ({ ...one, id: one.id.replace("known", "other") }));
    await expect(runCases(suite, others, options)).rejects.toMatchObject({ name: "Spent" });
  });
});

const after = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** A server that answers with the headers that it got. */
async function echoing(): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ target: request.url, headers: request.headers }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`;
}

test("a server is sent the token as its contract says, below its own path, and a failure has the bytes without it", async () => {
  const url = await echoing();
  const got: unknown[] = [];
  const one = serverCase(async (peer) => {
    const { text } = await peer.request({ method: "GET", target: "/x?y" });
    const { target, headers } = JSON.parse(text);
    got.push([target, headers.authorization, headers["x-api-key"]]);
    meet(false, "a", "b");
  });
  const server = { ...fixture().server, url };
  const [bearer] = await runCases(suite, [one], { server });
  const [key] = await runCases(vault, [one], { server, token: "a-token-of-mine" });
  expect(got).toEqual([
    ["/base/x?y", "Bearer conformance", undefined],
    ["/base/x?y", undefined, "a-token-of-mine"],
  ]);
  expect(bearer!.trace!.map(({ c, from }) => [c, from])).toEqual(
    expect.arrayContaining([
      [1, "suite"],
      [1, "peer"],
    ]),
  );
  expect(bearer!.trace![0]!.bytes).toMatch(/^GET \/base\/x\?y HTTP\/1\.1\r\n/);
  expect(JSON.stringify([bearer, key])).not.toContain("a-token-of-mine");
});

test("what a case leaves open of a server ends with the case, and a client's address too", async () => {
  let gone = 0;
  const server = createServer((_, response) => {
    response.write("a");
    response.on("close", () => gone++);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const one = serverCase(async (peer) => void (await peer.open({ method: "GET", target: "/" })));
  expect(await runServer(one, { server: { ...fixture().server, url } })).toMatchObject({ outcome: "passed" });
  await expect.poll(() => gone).toBe(1);
  const urls: string[] = [];
  const client = clientOf(async (line) => void urls.push(line.url));
  const call = clientCase(async (peer) => void (await peer.call(notice, async () => {}).catch(() => {})));
  await runCases(suite, [call], { client });
  await expect(fetch(urls[0]!)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
});

/** A client that makes its call by `fetch`, as a test has it. */
const clientOf = (call: (line: ClientLine) => Promise<unknown>) => ({
  call: async (line: ClientLine) => {
    await call(line);
    return { messages: [], error: null };
  },
  close: async () => {},
});
const notice = { operation: "notice", input: {}, steps: [] };

describe("a client", () => {
  test.each<[string, (line: ClientLine) => Promise<unknown>, object]>([
    ["that calls passes", ({ url }) => fetch(`${url}/notice`), { outcome: "passed" }],
    [
      "that does not call has not passed",
      async () => {},
      {
        outcome: "failed",
        expected: "a request of notice",
        came: 'the client did not call: it reported {"messages":[],"error":null}',
      },
    ],
    ["that calls another path has not passed", ({ url }) => fetch(`${url}/other`), { outcome: "failed" }],
    [
      "that calls by another method has not passed",
      ({ url }) => fetch(`${url}/notice`, { method: "POST" }),
      { outcome: "failed" },
    ],
    [
      "that reports nothing in time has failed",
      async () => {
        throw new Unmet("a report", "nothing");
      },
      { outcome: "failed", expected: "a report", came: "nothing" },
    ],
  ])("%s", async (_, call, result) => {
    const one = clientCase(async (peer) => {
      await peer.call(notice, async (exchange) => exchange.answer(200, "text/plain", "No service."));
    });
    const [found] = await runCases(suite, [one], { client: clientOf(call) });
    expect(found).toMatchObject({ id: "client/one", side: "client", ...result });
  });

  test("that answers twice is started again once an answer comes without a request", async () => {
    // What the client has printed and nobody has read.
    const printed: object[] = [];
    let calls = 0;
    const told = { messages: [], error: null };
    const client = {
      async call({ url }: ClientLine) {
        printed.push(...(++calls === 2 ? [told, told] : [told]));
        const [first] = printed.splice(0, 1);
        if (printed.length === 0 || calls === 2) await fetch(`${url}/notice`);
        return first as typeof told;
      },
      restart: async () => void printed.splice(0),
      close: async () => {},
    };
    const one = clientCase(async (peer) => {
      await peer.call(notice, async (exchange) => exchange.answer(200, "text/plain", "No service."));
    });
    const found = await runCases(suite, [one, one, one, one, one], { client });
    expect(found.map(({ outcome }) => outcome)).toEqual(["passed", "passed", "failed", "passed", "passed"]);
  });

  test("gets the case, the address, the call and the token, and the bytes of an upload", async () => {
    const lines: ClientLine[] = [];
    const client = clientOf(async (line) => void lines.push(line));
    const call = (operation: string) =>
      clientCase(async (peer) => void (await peer.call({ ...notice, operation }, async () => {})));
    await runCases(vault, [call("upload"), call("rename")], { client, token: "mine" });
    await runCases(suite, [call("notice")], { client });
    expect(lines.map(({ url, bytes, ...line }) => ({ ...line, bytes: bytes?.length }))).toEqual([
      { case: "client/one", operation: "upload", input: {}, steps: [], token: "mine", bytes: 684 },
      { case: "client/one", operation: "rename", input: {}, steps: [], token: "mine", bytes: undefined },
      { case: "client/one", operation: "notice", input: {}, steps: [], token: "conformance", bytes: undefined },
    ]);
    for (const { url } of lines) expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  test("whose request is not as the case expects has failed by that, and its connection is cut", async () => {
    const errors: unknown[] = [];
    const one = clientCase(async (peer) => {
      await peer.call(notice, async (_, index) => meet(false, "another request", index));
    });
    const call = ({ url }: ClientLine) => fetch(`${url}/notice`).catch((error) => errors.push(error));
    const [found] = await runCases(suite, [one], { client: clientOf(call) });
    expect(found).toMatchObject({ outcome: "failed", expected: "another request", came: "0" });
    expect(errors).toHaveLength(1);
  });

  test("whose request fails the case, and whose program breaks, has failed by its program", async () => {
    const one = clientCase(async (peer) => {
      await peer.call(notice, async () => meet(false, "another request", "x"));
    });
    const call = async ({ url }: ClientLine) => {
      await fetch(`${url}/notice`).catch(() => {});
      throw new Broken("a report", "it ended");
    };
    const [found] = await runCases(suite, [one], { client: clientOf(call) });
    expect(found).toMatchObject({ outcome: "failed", expected: "a report", came: "it ended" });
  });

  test("has reported before an exchange is over: the case waits for the exchange, and not for ever", async () => {
    const call = ({ url }: ClientLine) => fetch(`${url}/notice`);
    let over = false;
    const waits = clientCase(async (peer) => {
      await peer.call(notice, async (exchange) => {
        exchange.answer(200, "text/plain", "x");
        await exchange.gone;
        over = true;
      });
      meet(over, "the exchange to be over", over);
    });
    const close = ({ url }: ClientLine) => fetch(`${url}/notice`, { headers: { Connection: "close" } });
    expect(await runCases(suite, [waits], { client: clientOf(close) })).toMatchObject([{ outcome: "passed" }]);
    const stuck = clientCase(async (peer) => {
      await peer.call(notice, async (exchange) => {
        exchange.answer(200, "text/plain", "x");
        await new Promise(() => {});
      });
    });
    const [found] = await runCases(suite, [stuck], { client: clientOf(call), wait: 20 });
    expect(found).toMatchObject({ expected: "the whole exchange of notice", came: "nothing within 20 ms" });
  });
});
