import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { lint } from "@parlance/language/lint";
import { type Entry, read } from "@parlance/recordings";
import { Refusal } from "@parlance/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { transcriptRecording } from "../../../recordings/src/replay/loaded.js";
import { routesOf } from "../../src/node/routes.js";
import { contract, ended, files, inspected, temporary } from "../harbour.js";

const routes = ["GET /api/state", ...Object.keys(routesOf({ logs: new Map() } as never))];

describe("nobody but the page reaches", () => {
  const cases: readonly (readonly [string, Record<string, string>, boolean])[] = [
    ["no token", {}, false],
    ["another token", { Authorization: "Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }, false],
    ["a name that was made to point here", { Host: "evil.example" }, true],
    ["another origin", { Origin: "http://evil.example" }, true],
    ["an opaque origin", { Origin: "null" }, true],
  ];
  test.each(routes)("%s", async (route) => {
    const { origin, headers } = await inspected();
    const [method = "", path = ""] = route.split(" ");
    for (const [what, more, hasToken] of cases) {
      const status = await statusOf(origin + path, method, { ...(hasToken && headers), ...more });
      expect([what, status]).toEqual([what, 403]);
    }
  });
});

function statusOf(url: string, method: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    sent.on("error", reject);
    sent.end();
  });
}

test("the page's policy allows its own script and connections only", async () => {
  const { origin } = await inspected();
  const page = await fetch(`${origin}/`);
  expect(page.headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(await page.text()).not.toMatch(/<script>|<style|onload=/);
});

describe("a planted secret", () => {
  const SECRET = "planted-4f9a-secret";

  test("reaches no endpoint of the page and no line of the feed", async () => {
    const cases = await temporary();
    const say = async function* ({ ship }: { ship: string }) {
      if (ship === "refused")
        throw new Refusal(`no: ${SECRET}-header, ${SECRET}-token, ${SECRET}-key`, { status: 403 });
      yield { type: "word", text: `you said ${SECRET}, and ${SECRET}-cookie` };
      yield { type: "word", text: `\n\`\`\`diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+${SECRET}\n\`\`\`\n` };
      yield { type: "over" };
    };
    const { client, rows, get, post, origin, headers, proxy } = await inspected({
      say,
      cases,
      headers: { authorization: `Bearer ${SECRET}-header` },
    });
    const secrets = {
      Authorization: `Bearer ${SECRET}-token`,
      Cookie: `sid=${SECRET}-cookie`,
      "x-api-key": `${SECRET}-key`,
    };
    const input = { ship: "otter", ticket: `${SECRET}-ticket-1`, text: `it is ${SECRET}`, harbour_pass: SECRET };
    for await (const _ of client(secrets).say(input));
    await post("/api/call", {
      name: "say",
      parameters: { ship: "otter" },
      body: JSON.stringify({ text: SECRET, harbour_pass: SECRET }),
    });
    // Refused as the client that was observed, and as the page itself.
    const refused = { name: "say", parameters: { ship: "refused" }, body: '{"text":"a"}' };
    const outcomes = [await post("/api/call", { ...refused, credentials: 1 }), await post("/api/call", refused)];
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(
      outcomes.map(() => ({ ok: false, text: expect.stringMatching(/^403: no: __redacted_/) })),
    );
    const credentials = await (await get("/api/credentials")).json();
    expect(credentials[0]).toMatchObject({ names: expect.arrayContaining(["authorization"]) });
    const seen = await rows((all) => all.filter(({ kind }) => kind === "end").length === 4);
    // A file that was recorded without redaction.
    const header = { recording: 1, versions: {}, began: new Date(0).toISOString(), redacted: [] };
    const request = {
      t: 0,
      c: 1,
      from: "client",
      kind: "request",
      method: "GET",
      target: `/say/x?ticket=${SECRET}-ticket-1`,
      headers: [["Authorization", `Bearer ${SECRET}-token`]],
    };
    const body = {
      t: 1,
      c: 1,
      from: "client",
      kind: "body",
      text: JSON.stringify({ harbour_pass: SECRET, text: SECRET }),
    };
    const event = {
      t: 2,
      c: 1,
      from: "server",
      kind: "event",
      event: SECRET,
      id: SECRET,
      text: SECRET,
      raw: `data: ${SECRET}\n\n`,
    };
    const base64 = { t: 2, c: 1, from: "server", kind: "frame", base64: btoa(`${SECRET}\xff`) };
    const error = { t: 2, c: 1, from: "server", kind: "error", text: SECRET };
    const file = [header, request, body, event, base64, error].map((line) => `${JSON.stringify(line)}\n`).join("");
    const opened = await (
      await fetch(`${origin}/api/open?name=${SECRET}.jsonl`, { method: "POST", headers, body: file })
    ).json();
    const answers: string[] = [seen, opened, outcomes, credentials].map((one) => JSON.stringify(one));
    for (const log of ["live", opened.id]) {
      const all = await rows((some) => some.length >= (log === "live" ? seen.length : 5), log);
      answers.push(JSON.stringify(all));
      for (const { n } of all) {
        answers.push(await (await get(`/api/entry?log=${log}&n=${n}`)).text());
        answers.push(JSON.stringify(await post("/api/edits", { log, n })));
        answers.push(JSON.stringify(await post("/api/edits", { log, n, connection: 1 })));
      }
      for (const as of ["jsonl", "har", "md"])
        answers.push(await (await get(`/api/export?log=${log}&as=${as}`)).text());
    }
    answers.push(await (await get("/api/state")).text());
    answers.push(JSON.stringify(await post("/api/case", { log: "live", connection: 1, name: "one" })));
    answers.push(await readFile(join(cases, "one.jsonl"), "utf8"));
    answers.push(JSON.stringify(await post("/api/replay", { log: "live", as: "client" })));
    expect(answers.filter((text) => text.includes("planted") || text.includes(btoa(SECRET).slice(0, 20)))).toEqual([]);
    expect(answers.join("")).toContain("__redacted_");
    expect(proxy).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });

  test("that was left out of an edit keeps it from being applied", async () => {
    const root = await temporary();
    await writeFile(join(root, "x"), "a\n");
    const say = async function* () {
      yield { type: "word", text: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+sk-abcdefgh12345678\n" };
      yield { type: "over" };
    };
    const { client, rows, post } = await inspected({ say, root });
    for await (const _ of client().say({ ship: "otter", text: "hi" }));
    const n = (await rows(ended)).find(({ edits }) => edits)!.n;
    const review = await post("/api/edits", { log: "live", n });
    const changes = review.files[0].changes.map(({ id }: { id: string }) => id);
    const answer = await post("/api/apply", { review: review.id, changes });
    expect(answer).toEqual({ ok: false, text: expect.stringContaining("secret") });
    expect(await readFile(join(root, "x"), "utf8")).toBe("a\n");
  });
});

describe("the feed", () => {
  test("has the judgement of verify at each row, and the sentence of what is unknown", async () => {
    const { rows, proxy, post } = await inspected();
    await post("/api/call", { name: "say", parameters: { ship: "a" }, body: '{"text":42}', force: true });
    const seen = await rows((all) => all.some(({ kind }) => kind === "end"));
    expect(seen.map(({ kind, call, status }) => [kind, call, status]).slice(0, 3)).toEqual([
      ["request", "say", undefined],
      ["body", "say", undefined],
      ["response", "say", 400],
    ]);
    await fetch(`${proxy}/nowhere`);
    const [row] = (await rows((all) => all.some(({ flaws }) => flaws))).filter(({ flaws }) => flaws);
    expect(row).toMatchObject({
      text: "GET /nowhere",
      flaws: [{ rule: "route", message: "harbour has no GET /nowhere" }],
    });
  });

  test("counts the rows that it no longer holds, and holds no more than its limit", async () => {
    const say = async function* () {
      for (let at = 0; at < 100; at++) yield { type: "word", text: String(at) };
      yield { type: "over" };
    };
    const { client, rows, get, origin, headers } = await inspected({ say, limits: { entries: 20 } });
    for await (const _ of client().say({ ship: "otter", text: "hi" }));
    const seen = await rows((all) => all.at(-1)?.kind === "end");
    expect(seen).toHaveLength(20);
    expect(seen[0]!.n).toBe(86);
    const stop = new AbortController();
    const feed = await fetch(`${origin}/api/feed?log=live`, { headers, signal: stop.signal });
    const { value } = await feed.body!.getReader().read();
    stop.abort();
    expect(new TextDecoder().decode(value).split("\n")[0]).toBe('{"dropped":85}');
    expect((await get("/api/entry?log=live&n=1")).status).toBe(400);
    const kept: Entry[] = [];
    const bytes = new Uint8Array(await (await get("/api/export?log=live&as=jsonl")).arrayBuffer());
    expect(await read([bytes], { onEntry: (entry) => void kept.push(entry) })).toMatchObject({ state: "complete" });
    expect(kept).toHaveLength(20);
  });
});

test("a search finds words anywhere in a text that is longer than its row, from a row on, and leaves the others to the page", async () => {
  const say = async function* () {
    for (const text of ["NEEDLE", `${"x".repeat(5000)} a Needle`, "y".repeat(5000), `needle${"z".repeat(5000)}`])
      yield { type: "word", text };
    yield { type: "over" };
  };
  const { client, rows, get } = await inspected({ say });
  for await (const _ of client().say({ ship: "otter", text: "hi" }));
  const seen = await rows(ended);
  const [, second, , fourth] = seen.filter(({ type }) => type === "word").map(({ n }) => n);
  const { n: last } = seen.at(-1)!;
  const search = async (query: string) => (await get(`/api/search?log=live&${query}`)).json();
  expect(await search("text=needle")).toEqual({ rows: [second, fourth], last });
  expect(await search(`text=needle&from=${second! + 1}`)).toEqual({ rows: [fourth], last });
  expect(await search("text=nothing")).toEqual({ rows: [], last });
});

describe("what the page sends", () => {
  test("is refused where it breaks the contract, and sent although it is wrong when the user insists", async () => {
    const { post, rows } = await inspected();
    const call = { name: "say", parameters: { ship: "otter" }, body: '{"text":42}' };
    expect(await post("/api/check", call)).toEqual({
      broken: { message: expect.stringContaining("text"), at: ["/text"], missing: [] },
    });
    expect(await post("/api/call", call)).toEqual({ broken: expect.anything() });
    expect(await post("/api/edits", { log: "live", n: 1e9 })).toEqual({ error: "this entry is no longer held" });
    expect(await post("/api/call", { ...call, force: true, times: 2 })).toEqual({
      outcome: { ok: false, text: expect.stringMatching(/^400: .*`text` must be string/) },
    });
    const seen = await rows((all) => all.filter(({ kind }) => kind === "end").length === 2);
    expect(seen.filter(({ kind, text }) => kind === "body" && text === '{"text":42}')).toHaveLength(2);
    expect(seen.filter(({ kind, status }) => kind === "response" && status === 400)).toHaveLength(2);
  });

  test("on a channel reaches the server between the client's own messages, and answers its ask", async () => {
    const { client, got, post, rows } = await inspected();
    const radio = await client().radio({ ship: "otter" });
    await radio.send({ type: "hail", name: "Otter" });
    const [ask] = (await rows((all) => all.some((row) => row.ask))).filter((row) => row.ask);
    expect(ask).toMatchObject({ type: "mayEnter", ask: { by: "server", ask: "mayEnter", key: 7 } });
    const answer = { connection: ask!.c, channel: "radio", text: '{"kind":"yes","of":7,"allowed":true}' };
    expect(await post("/api/frame", { ...answer, text: '{"kind":"yes"}' })).toEqual({ broken: expect.anything() });
    expect(await post("/api/frame", answer)).toEqual({ outcome: { ok: true, text: "Sent on connection 1." } });
    const seen = await rows((all) => all.some((row) => row.settles));
    expect(seen.find((row) => row.settles)).toMatchObject({ type: "yes", settles: [ask!.n] });
    await radio.send({ type: "hail", name: "again" });
    await rows((all) => all.filter((row) => row.ask).length === 2);
    expect(got).toEqual([
      { type: "hail", name: "Otter" },
      { type: "yes", of: 7, allowed: true },
      { type: "hail", name: "again" },
    ]);
    await post("/api/fault", { connection: ask!.c, fault: "cut" });
    await radio.closed.catch(() => {});
  });
});

test("a message without a connection, and a call without a part of its path, say what is missing", async () => {
  const { post } = await inspected();
  const frame = { channel: "radio", text: '{"kind":"hail","name":"Otter"}' };
  for (const connection of [undefined, null, "", "x", 1.5, 0])
    expect(await post("/api/frame", { ...frame, connection })).toEqual({
      error: "choose a connection; if none is open, open the channel first",
    });
  for (const path of ["/api/call", "/api/check"])
    for (const parameters of [{}, { ship: "" }])
      expect(await post(path, { name: "say", parameters, body: '{"text":"a"}', force: true })).toEqual({
        error: "ship is empty, and it is a part of the path /say/{ship}",
      });
});

describe("a connection that is disturbed", () => {
  /** A stream that goes on when the test says so. */
  function stepped() {
    const steps: (() => void)[] = [];
    const say = async function* () {
      for (let at = 0; ; at++) {
        yield { type: "word", text: String(at) };
        await new Promise<void>((resolve) => void steps.push(resolve));
      }
    };
    return { say, step: () => steps.shift()!() };
  }

  const texts = async (stream: AsyncIterator<{ text: string }>, count: number) => {
    const found: string[] = [];
    for (let at = 0; at < count; at++) found.push((await stream.next()).value.text);
    return found;
  };

  test("gets the next message twice, and the recording says so", async () => {
    const { say, step } = stepped();
    const { client, post, rows } = await inspected({ say });
    const stream = client().say({ ship: "otter", text: "hi" })[Symbol.asyncIterator]();
    expect(await texts(stream, 1)).toEqual(["0"]);
    await post("/api/fault", { connection: 1, fault: "duplicate", from: "server" });
    step();
    expect(await texts(stream, 2)).toEqual(["1", "1"]);
    const seen = await rows((all) => all.filter(({ kind }) => kind === "event").length === 3);
    expect(seen.find(({ kind }) => kind === "fault")).toMatchObject({
      c: 1,
      text: "sends the server's next message twice",
    });
    await post("/api/fault", { connection: 1, fault: "cut" });
    await expect(stream.next()).rejects.toMatchObject({ name: "Disconnected" });
  });

  test("gets the next message spoilt, and the row has its flaw", async () => {
    const { say, step } = stepped();
    const { client, post, rows } = await inspected({ say });
    const stream = client().say({ ship: "otter", text: "hi" })[Symbol.asyncIterator]();
    await texts(stream, 1);
    await post("/api/fault", { connection: 1, fault: "malformed", from: "server" });
    step();
    await expect(stream.next()).rejects.toMatchObject({ name: "Violation" });
    const seen = await rows((all) => all.some(({ flaws }) => flaws));
    expect(seen.find(({ flaws }) => flaws)).toMatchObject({ kind: "event", flaws: [{ rule: "schema" }] });
  });

  test("gets nothing while it is stalled, and everything after that", async () => {
    const { say, step } = stepped();
    const { client, post } = await inspected({ say });
    const stream = client().say({ ship: "otter", text: "hi" })[Symbol.asyncIterator]();
    await texts(stream, 1);
    await post("/api/fault", { connection: 1, fault: "stall", from: "server" });
    step();
    const next = texts(stream, 1);
    let came = false;
    void next.then(() => {
      came = true;
    });
    await post("/api/check", { name: "say", parameters: { ship: "a" }, body: '{"text":"a"}' });
    expect(came).toBe(false);
    await post("/api/fault", { connection: 1, fault: "release", from: "server" });
    expect(await next).toEqual(["1"]);
    await post("/api/fault", { connection: 1, fault: "cut" });
    await expect(stream.next()).rejects.toMatchObject({ name: "Disconnected" });
  });
});

describe("a WebSocket that is disturbed", () => {
  /** A conversation of which the harbour has got nothing. */
  async function aboard() {
    const { client, got, post } = await inspected();
    const radio = await client().radio({ ship: "otter" });
    onTestFinished(async () => {
      await post("/api/fault", { connection: 1, fault: "cut" });
      await radio.closed.catch(() => {});
    });
    const asked: unknown[] = [];
    const reading = (async () => {
      for await (const message of radio) asked.push(message);
    })();
    reading.catch(() => {});
    const fault = (name: string, from: string) => post("/api/fault", { connection: 1, fault: name, from });
    /** Several turns of both ends and of the proxy. */
    const turns = async () => {
      for (let at = 0; at < 5; at++)
        await post("/api/check", { name: "say", parameters: { ship: "a" }, body: '{"text":"a"}' });
    };
    return { radio, got, asked, fault, turns };
  }
  const hail = { type: "hail", name: "Otter" };
  const ask = { type: "mayEnter", berth: 7 };
  const yes = { type: "yes", of: 7, allowed: true };

  test("takes nothing of a client that is stalled, and everything after that", async () => {
    const { radio, got, asked, fault, turns } = await aboard();
    await fault("stall", "client");
    await radio.send(hail);
    await turns();
    expect(got).toEqual([]);
    await fault("release", "client");
    await expect.poll(() => [got, asked]).toEqual([[hail], [ask]]);
  });

  test("brings nothing of a server that is stalled, and everything after that", async () => {
    const { radio, got, asked, fault, turns } = await aboard();
    await fault("stall", "server");
    await radio.send(hail);
    await expect.poll(() => got).toEqual([hail]);
    await turns();
    expect(asked).toEqual([]);
    await fault("release", "server");
    await expect.poll(() => asked).toEqual([ask]);
  });

  test.each(["client", "server"])("waits behind each message of a %s that is slow", async (from) => {
    const { radio, got, asked, fault, turns } = await aboard();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const came = () => (from === "client" ? got : asked);
    const send = async () => {
      const before = came().length;
      await radio.send(hail);
      return before;
    };
    await fault("slow", from);
    await send();
    await expect.poll(() => asked).toEqual([ask]);
    if (from === "client") vi.advanceTimersByTime(500);
    await radio.send(yes);
    await expect.poll(() => got).toEqual([hail, yes]);
    // Behind what has just come.
    const waits = await send();
    await turns();
    expect(came()).toHaveLength(waits);
    vi.advanceTimersByTime(500);
    await expect.poll(() => came().length).toBe(waits + 1);
  });
});

describe("a recording of the page", () => {
  test("is opened again with the same rows, replayed as both sides, and made a transcript that lints and plays", async () => {
    const cases = await temporary();
    const { client, rows, get, post, origin, headers } = await inspected({ cases });
    for await (const _ of client().say({ ship: "otter", text: "hi" }));
    const live = await rows(ended);
    const file = await (await get("/api/export?log=live&as=jsonl")).text();
    const opened = await (await fetch(`${origin}/api/open?name=a`, { method: "POST", headers, body: file })).json();
    expect(await rows(ended, opened.id)).toEqual(live);
    expect(await post("/api/replay", { log: opened.id, as: "client" })).toEqual({ problems: [] });
    const serving = await post("/api/replay", { log: opened.id, as: "server" });
    expect(await post("/api/replay/stop", { id: serving.id })).toEqual({
      problems: [expect.stringContaining("POST /say/otter was recorded, and was not asked for")],
    });
    expect(await post("/api/case", { log: "live", connection: 1, name: "greeting" })).toEqual({
      file: join(cases, "greeting.jsonl"),
    });
    const text = await readFile(join(cases, "greeting.jsonl"), "utf8");
    const folder = { name: "harbour", files: { ...files, "transcripts/greeting.jsonl": text } };
    expect((await lint(folder)).filter(({ rule }) => rule === "transcript")).toEqual([]);
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.slice(2).map(({ message }) => message)).toEqual([{ type: "word", text: "hi" }, { type: "over" }]);
    expect(transcriptRecording(contract, lines).connections).toHaveLength(1);
    const again = await post("/api/case", { log: "live", connection: 1, name: "greeting" });
    expect(again).toEqual({ error: expect.stringContaining("EEXIST") });
    expect(await post("/api/case", { log: "live", connection: 1, name: "../x" })).toEqual({
      error: expect.any(String),
    });
  });
});

describe("the edits of a conversation", () => {
  const blocks =
    "```edit\nfile: a.txt\naction: edit\nold_content: |\n  one\nnew_content: |\n  ONE\n```\n```edit\nfile: a.txt\naction: edit\nold_content: |\n  two\nnew_content: |\n  TWO\n```\n";

  async function reviewed() {
    const root = await temporary();
    await writeFile(join(root, "a.txt"), "one\ntwo\nthree\n");
    // In pieces, as a model streams it.
    const say = async function* () {
      for (let at = 0; at < blocks.length; at += 7) yield { type: "word", text: blocks.slice(at, at + 7) };
      yield { type: "over" };
    };
    const { client, rows, post } = await inspected({ say, root });
    for await (const _ of client().say({ ship: "otter", text: "hi" }));
    const { n } = (await rows(ended)).at(-1)!;
    const review = await post("/api/edits", { log: "live", n, connection: 1 });
    return { root, post, review, text: () => readFile(join(root, "a.txt"), "utf8") };
  }

  test("are one change for each block, though both stand in one hunk, and are applied and undone alone", async () => {
    const { post, review, text } = await reviewed();
    const changes = review.files.flatMap((file: { changes: object[] }) => file.changes);
    expect(changes.map(({ lines }: { lines: string[] }) => lines.filter((line) => !line.startsWith(" ")))).toEqual([
      ["-one", "+ONE"],
      ["-two", "+TWO"],
    ]);
    expect(await post("/api/apply", { review: review.id, changes: [changes[1].id] })).toEqual({
      ok: true,
      text: "Applied: a.txt",
    });
    expect(await text()).toBe("one\nTWO\nthree\n");
    expect(await post("/api/undo", { review: review.id })).toEqual({ ok: true, text: "Undone: a.txt" });
    expect(await text()).toBe("one\ntwo\nthree\n");
    const all = changes.map(({ id }: { id: string }) => id);
    expect(await post("/api/apply", { review: review.id, changes: all })).toMatchObject({ ok: true });
    expect(await text()).toBe("ONE\nTWO\nthree\n");
  });

  test("are not applied to a file that has changed since, nor outside of the folder", async () => {
    const { root, post, review, text } = await reviewed();
    await writeFile(join(root, "a.txt"), "zero\none\ntwo\nthree\n");
    const ids = review.files[0].changes.map(({ id }: { id: string }) => id);
    expect(await post("/api/apply", { review: review.id, changes: ids })).toMatchObject({ ok: false });
    expect(await text()).toBe("zero\none\ntwo\nthree\n");
    await mkdir(join(root, "inner"));
    expect((await readdir(root)).sort()).toEqual(["a.txt", "inner"]);
    expect((await stat(join(root, "inner"))).isDirectory()).toBe(true);
  });
});
