import { connect } from "@parlance/client";
import type { AnyContract, AnyMessage, ContractDocument } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { subjects } from "../../protocols/test/contracts.js";
import { Conversations } from "../src/conversation.js";
import type { Entry, Header } from "../src/recording.js";
import { replayClient } from "../src/replay/client.js";
import { type LoadedRecording, loadRecording, transcriptRecording } from "../src/replay/loaded.js";
import { Matcher } from "../src/replay/match.js";
import { formatProblem } from "../src/replay/replay.js";
import { ReplayServer } from "../src/replay/server.js";
import { record } from "../src/tap.js";
import { type Finding, Verifier } from "../src/verify.js";

async function findingsIn(contract: AnyContract, entries: readonly Entry[], header?: Header): Promise<Finding[]> {
  const findings: Finding[] = [];
  const verifier = new Verifier(
    new Conversations(contract, await contract.accepts()),
    (finding) => void findings.push(finding),
  );
  if (header) verifier.header(header);
  for (const [at, entry] of entries.entries()) verifier.entry(entry, at + 2);
  verifier.end(entries.length + 2, false);
  return findings;
}

const transcripts = subjects.flatMap(({ contract, document }) =>
  Object.entries((document as ContractDocument).transcripts).map(([name, lines]) => ({
    title: `${contract.name} ${name}`,
    contract,
    lines,
  })),
);

/** Each call of a conversation as our client makes it; resolves with the messages that it has heard. */
async function heardFrom(
  contract: AnyContract,
  conversation: LoadedRecording,
): Promise<{ replay: ReplayServer; heard: string[] }> {
  const replay = new ReplayServer(conversation, { contract });
  const talk = new Conversations(contract, await contract.accepts());
  const heard: string[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: one test for all contracts
  const client = connect(contract, { fetch: replay.fetch, retryWaits: [], resume: false }) as any;
  for (const { request, body } of conversation.connections) {
    const asked = talk.asked(
      request.method,
      request.target,
      request.headers,
      body === undefined ? undefined : JSON.parse(body),
    );
    const { answer } = contract.operations[asked!.name]!;
    try {
      const takesInput = Object.keys(asked!.input).length > 0;
      const call = takesInput ? client[asked!.name](asked!.input) : client[asked!.name]();
      if (answer.stream) for await (const { type } of call as AsyncIterable<AnyMessage>) heard.push(type);
      else await call;
    } catch (error) {
      heard.push((error as Error).name);
    }
  }
  return { replay, heard };
}

describe("a transcript as a recording", () => {
  test.each(transcripts)(
    "$title fits its contract: what it says of schemas, order and exchanges",
    async ({ contract, lines }) => {
      const { header, steps } = transcriptRecording(contract, lines);
      const entries: Entry[] = [];
      for await (const { entry } of steps()) entries.push(entry);
      const findings = await findingsIn(contract, entries, { ...header, transcript: true });
      // A transcript shows calls that another one began, and streams that are cut.
      expect(findings.filter(({ rule }) => rule === "schema" || rule === "status" || rule === "route")).toEqual([]);
    },
  );

  const simple = transcripts.filter(({ title }) =>
    /^(fold-gateway|agentsmithy|coven) (complete|no-agents|agents-and)/.test(title),
  );
  test.each(simple)(
    "$title is replayed to our client, and everything recorded is asked for",
    async ({ contract, lines }) => {
      const { replay, heard } = await heardFrom(contract, transcriptRecording(contract, lines));
      expect(heard.filter((name) => name === "Violation")).toEqual([]);
      expect(replay.close().map(formatProblem)).toEqual([]);
    },
  );
});

describe("a recording that is not as its contract says", () => {
  const { contract } = subjects.find(({ contract }) => contract.name === "fold-gateway")!;
  const base = (): Entry[] => [
    {
      t: 0,
      c: 1,
      from: "client",
      kind: "request",
      method: "POST",
      target: "/api/send",
      headers: [["content-type", "application/json"]],
    },
    { t: 0, c: 1, from: "client", kind: "body", text: '{"content":"x"}' },
    { t: 1, c: 1, from: "server", kind: "response", status: 200, headers: [["content-type", "text/event-stream"]] },
    { t: 2, c: 1, from: "server", kind: "event", event: "text", text: '{"text":"a"}' },
    { t: 3, c: 1, from: "server", kind: "event", event: "done", text: '{"full_response":"a"}' },
    { t: 4, c: 1, from: "server", kind: "end" },
  ];
  const wrong: [string, (entries: Entry[]) => Entry[], string[]][] = [
    ["nothing", (all) => all, []],
    ["a request that breaks its schema", (all) => all.with(1, { ...all[1]!, text: "{}" } as Entry), ["schema"]],
    [
      "a path that the contract does not have",
      (all) => all.with(0, { ...all[0]!, target: "/nowhere" } as Entry),
      ["route"],
    ],
    ["a status of another operation", (all) => all.with(2, { ...all[2]!, status: 201 } as Entry), ["status"]],
    ["a message that breaks its schema", (all) => all.with(3, { ...all[3]!, text: '{"text":1}' } as Entry), ["schema"]],
    ["a message that is not JSON", (all) => all.with(3, { ...all[3]!, text: "{" } as Entry), ["schema"]],
    ["a message that is not known", (all) => all.with(3, { ...all[3]!, event: "new" } as Entry), []],
    [
      "a redacted value in place of a number",
      (all) => all.with(3, { ...all[3]!, text: '{"text":"__redacted_1__"}' } as Entry),
      [],
    ],
    ["a message behind the end", (all) => all.toSpliced(5, 0, all[3]!), ["order"]],
    ["a stream without its end", (all) => all.toSpliced(4, 1), ["end"]],
    ["a stream that goes on", (all) => all.slice(0, 4), ["end"]],
    [
      "a server that is lost",
      (all) => [...all.slice(0, 4), { t: 4, c: 1, from: "server", kind: "error", text: "lost" }],
      ["end"],
    ],
    [
      "a client that leaves",
      (all) => [...all.slice(0, 4), { t: 4, c: 1, from: "client", kind: "error", text: "gone" }],
      [],
    ],
    ["an event of no connection", (all) => [{ ...all[3]!, c: 2 } as Entry, ...all], ["order"]],
  ];
  test.each(wrong)("%s", async (_, change, rules) => {
    expect((await findingsIn(contract, change(base()))).map(({ rule }) => rule)).toEqual(rules);
  });

  test("an answer to nothing, and a second answer, are found", async () => {
    const { contract: loco } = subjects.find(({ contract }) => contract.name === "loco")!;
    const frame = (from: "client" | "server", message: object): Entry => ({
      t: 0,
      c: 1,
      from,
      kind: "frame",
      text: JSON.stringify(message),
    });
    const ask = {
      type: "tool.request_approval",
      request_id: "r1",
      tool_name: "edit",
      args: { file_path: "a", reason: "b" },
      risk_level: "low",
    };
    const answer = (request_id: string) =>
      frame("client", { type: "client.approval_response", request_id, approved: true, scope: "all" });
    const findings = await findingsIn(loco, [
      {
        t: 0,
        c: 1,
        from: "client",
        kind: "request",
        method: "GET",
        target: "/v1/sessions/s/stream",
        headers: [],
        socket: true,
      },
      { t: 0, c: 1, from: "server", kind: "response", status: 101, headers: [] },
      frame("server", { type: "server.hello", server_info: { version: "1" } }),
      frame("client", { type: "client.hello", client_info: { name: "t", version: "1", capabilities: [] } }),
      frame("server", ask),
      answer("r1"),
      answer("r1"),
      answer("r2"),
      { t: 0, c: 1, from: "server", kind: "close", code: 1000, reason: "" },
    ]);
    expect(findings.map(({ line, rule }) => `${line} ${rule}`)).toEqual(["8 exchange", "9 exchange"]);
  });
});

describe("what is compared", () => {
  const cases: [string, unknown, unknown, string[]][] = [
    ["equal values in another order of properties", { a: 1, b: [2] }, { b: [2], a: 1 }, []],
    ["another value", { a: 1 }, { a: 2 }, ["/a"]],
    ["a property less and one more", { a: 1 }, { b: 1 }, ["/a", "/b"]],
    ["an id that is the same wherever it is repeated", { id: "x1", ref_id: "x1" }, { id: "y9", ref_id: "y9" }, []],
    ["an id that would be two", { id: "x1", ref_id: "x1" }, { id: "y9", ref_id: "y8" }, ["/ref_id"]],
    ["a placeholder", { a: "Bearer __redacted_1__!" }, { a: "Bearer abc!" }, []],
    ["another text around a placeholder", { a: "Bearer __redacted_1__!" }, { a: "Bearer abc?" }, ["/a"]],
    ["another time", { at: "2026-01-01T00:00:00Z" }, { at: "2027-01-01T00:00:00Z" }, []],
    ["JSON within JSON", { a: '{"x":1}' }, { a: '{ "x": 1 }' }, []],
  ];
  test.each(cases)("%s", (_, recorded, came, places) => {
    const differences = new Matcher().text(JSON.stringify(recorded), JSON.stringify(came));
    expect(differences.map(({ at }) => at)).toEqual(places);
  });

  test("a request, by its path, its query in any order, and its body by value", () => {
    const asked = { method: "POST", target: "/a/b?x=1&y=2", body: '{"a":1,"b":2}' };
    const differs = (came: object) => new Matcher().request(asked, { ...asked, ...came }, false).map(({ at }) => at);
    expect(differs({ target: "/a/b?y=2&x=1", body: '{ "b": 2, "a": 1 }' })).toEqual([]);
    expect(differs({ method: "PUT" })).toEqual(["method"]);
    expect(differs({ target: "/a/c?x=1&y=2" })).toEqual(["path"]);
    expect(differs({ target: "/a?x=1&y=3" })).toEqual(["path", "/y/0"].map((at) => (at === "path" ? at : "query/y/0")));
  });
});

test("an id that another one stands for is not the old one again", () => {
  const matcher = new Matcher();
  const differences = (recorded: object, came: object) =>
    matcher.text(JSON.stringify(recorded), JSON.stringify(came)).map(({ at }) => at);
  expect(differences({ id: "x1" }, { id: "y1" })).toEqual([]);
  expect(differences({ id: "x1", ref: "x1" }, { id: "y1", ref: "x1" })).toEqual(["/ref"]);
  expect(differences({ ref: "x1" }, { ref: "y1" })).toEqual([]);
});

test("an id of the server stands in a path as it may be there, and never chooses the host", async () => {
  const line = (c: number, from: string, more: object) => ({ t: c, c, from, headers: [], ...more });
  const recorded = (id: string, target: string) =>
    [
      { recording: 1, versions: {}, began: new Date(0).toISOString(), redacted: [] },
      line(1, "client", { kind: "request", method: "GET", target: "/new" }),
      line(1, "server", { kind: "response", status: 200 }),
      line(1, "server", { kind: "body", text: JSON.stringify({ id }) }),
      line(1, "server", { kind: "end" }),
      line(2, "client", { kind: "request", method: "GET", target }),
    ]
      .map((one) => `${JSON.stringify(one)}\n`)
      .join("");
  const asked = async (recording: string, id: string) => {
    const urls: string[] = [];
    const fetch = async ({ url }: Request) => {
      urls.push(url);
      return new Response(JSON.stringify({ id }));
    };
    const problems = await replayClient(await loadRecording([new TextEncoder().encode(recording)]), { fetch });
    return { urls, problems: problems.map(({ message }) => message) };
  };
  expect(await asked(recorded("one", "/one/x"), "a b#c")).toEqual({
    urls: ["http://localhost/new", "http://localhost/a%20b%23c/x"],
    problems: [],
  });
  for (const id of ["@evil:1", ":1", "//evil", "http://evil"])
    expect(await asked(recorded("/one", "/one/x"), id)).toEqual({
      urls: ["http://localhost/new"],
      problems: [expect.stringContaining("was not sent: the target")],
    });
});

test("equal requests are answered in the order in which they were recorded, and the last is not repeated", async () => {
  let count = 0;
  const recording = record({ fetch: async () => new Response(String(++count)) });
  const ask = (fetch: (request: Request) => Promise<Response>) =>
    fetch(new Request("http://a/x")).then((response) => response.text());
  await ask(recording.fetch);
  await ask(recording.fetch);
  const replay = new ReplayServer(await loadRecording(recording.bytes()));
  expect([await ask(replay.fetch), await ask(replay.fetch)]).toEqual(["1", "2"]);
  expect(await ask(replay.fetch)).toContain(
    "nothing recorded is left for GET /x; the nearest is GET /x, which has been answered",
  );
  expect(replay.close().map(({ kind }) => kind)).toEqual(["miss"]);
});

test("a body of bytes is replayed by both sides", async () => {
  const bytes = new Uint8Array([0, 255, 254, 1]);
  const put = (own = bytes) => new Request("http://localhost/papers/a", { method: "PUT", body: own });
  const received: string[] = [];
  const fetch = async (request: Request) => {
    received.push(Buffer.from(await request.arrayBuffer()).toString("hex"));
    return new Response(bytes, { status: 201 });
  };
  const recording = record({ fetch });
  await (await recording.fetch(put())).arrayBuffer();
  const conversation = await loadRecording(recording.bytes());
  expect(await replayClient(conversation, { fetch })).toEqual([]);
  expect(received).toEqual(["00fffe01", "00fffe01"]);
  const server = new ReplayServer(conversation);
  const answer = await server.fetch(put());
  expect([answer.status, new Uint8Array(await answer.arrayBuffer())]).toEqual([201, bytes]);
  expect(server.close()).toEqual([]);
  const other = new ReplayServer(conversation);
  expect((await other.fetch(put(new Uint8Array([0, 255, 254, 2])))).status).toBe(501);
});

describe("the client of a recording", () => {
  const header = { recording: 1, versions: {}, began: new Date(0).toISOString(), redacted: [] };
  const line = (from: string, more: object) => ({ t: 0, c: 1, from, ...more });
  const ask = [
    line("client", { kind: "request", method: "POST", target: "/ask", headers: [] }),
    line("client", { kind: "body", text: '{"request_id":"r1","of":"a"}' }),
  ];
  const answer = [
    line("server", { kind: "response", status: 200, headers: [] }),
    line("server", { kind: "body", text: '{"request_id":"r1","id":"x7"}' }),
    line("server", { kind: "end" }),
  ];
  const replayed = async (lines: readonly object[], fetch: (request: Request) => Promise<Response>) => {
    const text = [header, ...lines].map((one) => `${JSON.stringify(one)}\n`).join("");
    const conversation = await loadRecording([new TextEncoder().encode(text)]);
    return (await replayClient(conversation, { fetch, wait: 50 })).map(formatProblem);
  };

  test.each([
    ["its own id comes back, and another one of the server", { request_id: "r1", id: "y8" }, []],
    ["another id comes back for its own", { request_id: "r2", id: "x7" }, ["/request_id"]],
  ])("sees that %s", async (_, came, places) => {
    const problems = await replayed([...ask, ...answer], async () => Response.json(came));
    expect(problems.length).toBe(places.length);
    for (const place of places) expect(problems[0]).toContain(`${place}: recorded "r1", came "r2"`);
  });

  const binary = (base64: string) => [
    ...ask,
    line("server", { kind: "response", status: 200, headers: [["Content-Type", "application/octet-stream"]] }),
    line("server", { kind: "body", base64 }),
    line("server", { kind: "end" }),
  ];
  const bytes = (...values: number[]) =>
    new Response(new Uint8Array(values), { headers: { "content-type": "Application/Octet-Stream; x=1" } });
  test.each([
    ["the same bytes", bytes(0, 255, 1), []],
    ["other bytes", bytes(9, 255, 1), ["the whole"]],
    ["a text", new Response("text", { headers: { "content-type": "application/octet-stream" } }), ["the whole"]],
    ["nothing", new Response(null, { headers: { "content-type": "application/octet-stream" } }), ["did not come"]],
    ["the bytes of another type", new Response(new Uint8Array([0, 255, 1])), ["content-type"]],
  ])("compares bytes with %s", async (_, answer, words) => {
    const problems = await replayed(binary("AP8B"), async () => answer);
    expect(problems.map((one) => words.filter((word) => one.includes(word)))).toEqual(words.map((word) => [word]));
  });

  test.each([
    ["text/plain; charset=utf-8", "text/plain", ["content-type"]],
    ["text/plain; charset=latin1", "text/plain; charset=utf-8", ["charset=latin1", "charset=utf-8"]],
    ["text/plain; charset=UTF-8", 'Text/Plain;charset="utf-8"', []],
    ["application/json", "application/json; charset=utf-8", []],
  ])("compares the charset of %s with that of %s", async (recorded, came, words) => {
    const head = line("server", { kind: "response", status: 200, headers: [["Content-Type", recorded]] });
    const answer = new Response("1", { headers: { "content-type": came } });
    const problems = await replayed([...ask, head, line("server", { kind: "body", text: "1" })], async () => answer);
    expect(problems.map((one) => words.filter((word) => one.includes(word)))).toEqual(words.length > 0 ? [words] : []);
  });

  test.each([
    ["/a", []],
    ["http://evil.example/a", ['location: recorded "/a", came "http://evil.example/a"']],
    [undefined, ['location: recorded "/a", came nothing']],
  ])("compares where an answer redirects to: %s", async (location, found) => {
    const recorded = [
      ...ask,
      line("server", { kind: "response", status: 302, headers: [["Location", "/a"]] }),
      answer[2]!,
    ];
    const headers: Record<string, string> = location === undefined ? {} : { location };
    const problems = await replayed(recorded, async () => new Response(null, { status: 302, headers }));
    expect(problems.map((one) => one.split("\n")[1]!.trim())).toEqual(found);
  });

  test.each([
    ["TRACE", ask.slice(2)],
    ["CONNECT", ask.slice(2)],
    ["GET", ask.slice(1)],
  ])("says that a %s with %j, which `fetch` does not send, was not sent", async (method, body) => {
    const request = line("client", { kind: "request", method, target: "/a", headers: [] });
    expect(await replayed([request, ...body], async () => new Response())).toEqual([
      expect.stringMatching(`^left: ${method} /a was not sent: `),
    ]);
  });

  const refused = new TypeError("fetch failed", {
    cause: new AggregateError([new Error("connect ECONNREFUSED ::1:9"), new Error("connect ECONNREFUSED 127.0.0.1:9")]),
  });
  test.each([
    ["whole", [...ask, ...answer]],
    ["cut before an answer", ask],
  ])("says of a recording that is %s why its server cannot be asked", async (_, lines) => {
    const problems = await replayed(lines, () => Promise.reject(refused));
    expect(problems.join()).toContain("connect ECONNREFUSED ::1:9");
  });

  test("does not compare what has no recorded text, and counts it", async () => {
    const left = [...answer.slice(0, 1), line("server", { kind: "body", size: 7, encoding: "gzip" }), answer[2]!];
    expect(await replayed([...ask, ...left], async () => Response.json({ any: 1 }))).toEqual([]);
    const text = [header, ...ask, ...left].map((one) => `${JSON.stringify(one)}\n`).join("");
    expect(String((await loadRecording([new TextEncoder().encode(text)])).leftOut.server)).toBe("1 encoded: gzip");
  });

  test("takes any answer, and none, where the recording is cut before it", async () => {
    for (const fetch of [async () => Response.json(7), () => new Promise<Response>(() => {})])
      expect(await replayed(ask, fetch)).toEqual([]);
  });
});
