import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../src/run.js";
import { session, shown } from "./session.js";
import { folder, parlance } from "./terminal.js";

// What `parlance conform` prints, with clients that do nothing right and servers that answer the same to everything.

/** Clients by their file: one makes no call, the other calls each so many cases and then knows of a lost connection only. */
const clients = {
  "nothing.mjs": `import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) console.log('{"messages":[],"error":null}');`,
  "each.mjs": `import { createInterface } from "node:readline";
import { request } from "node:http";
const each = Number(process.argv[2]);
let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  await new Promise((resolve) => {
    const { url } = JSON.parse(line);
    const sent = request(url + "/prompt", { method: "POST" }, (answer) => answer.resume().on("close", resolve));
    sent.on("error", resolve).end('{"prompt":"Rename total to sum."}');
  });
  const kind = ++count % each === 0 ? "disconnected" : "violation";
  console.log(JSON.stringify({ messages: [], error: { kind } }));
}`,
};
const listed = (cases: string) => cases.split("\n").filter(Boolean);

async function started(example = "sse") {
  const cwd = await folder(clients);
  await parlance(cwd, `init --example ${example}`);
  return cwd;
}

/** Words may have spaces. */
async function typed(cwd: string, ...words: string[]): Promise<string> {
  let out = "";
  let err = "";
  const code = await run(["conform", ...words], {
    cwd,
    env: {},
    stdin: (async function* () {})(),
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  const steadily = (text: string) => text.replace(/^ +\d+(\.\d)? ms/gm, "   0.0 ms");
  return shown(cwd, `conform ${words.join(" ")}`, { code, out: steadily(out), err: steadily(err) });
}

const keeps = (text: string, name: string) => expect(text).toMatchFileSnapshot(`./sessions/${name}.txt`);

test("--list has the cases of the level and of the patterns, in the order of the contract", async () => {
  const cwd = await started("both");
  const only = "--only client/prompt/message/** --only server/session/*";
  const texts = await session(cwd, [
    `conform schemas/my-agent --list ${only}`,
    `conform schemas/my-agent --list ${only} --level must`,
    `conform schemas/my-agent --list ${only} --level may`,
    "conform schemas/my-agent --list --json --only server/prompt/status --only server/prompt/host",
    "conform schemas/my-agent --list --level can",
    "conform schemas/my-agent other --list",
    "conform --list",
  ]);
  await keeps(texts, "conform-list");
  const all = listed((await parlance(cwd, "conform schemas/my-agent --list --level may")).out);
  const should = listed((await parlance(cwd, "conform schemas/my-agent --list")).out);
  const must = listed((await parlance(cwd, "conform schemas/my-agent --list --level must")).out);
  const at = (level: string) => all.filter((line) => line.startsWith(level));
  expect(must).toEqual(at("must"));
  expect(should).toEqual(all.filter((line) => !line.startsWith("may")));
  expect(at("should").length).toBeGreaterThan(0);
});

test("a failed run tells each case, and the lists take what they name", async () => {
  const cwd = await started();
  const path = "schemas/my-agent";
  const nothing = ["--client", "node nothing.mjs", "--wait", "3000"];
  const only = ["--only", "client/prompt/message/**"];
  const known = ["--known-failing", "known.txt"];
  const texts = [
    await typed(cwd, path, ...nothing, ...only),
    await typed(cwd, path, ...nothing, ...only, "--seed", "3", ...known, "--update-baseline"),
    await readFile(join(cwd, "known.txt"), "utf8"),
    await typed(cwd, path, ...nothing, ...only, ...known),
    await typed(cwd, path, ...nothing, ...only, "--update-baseline"),
    await typed(cwd, path, ...nothing, "--only", "client/prompt/cut/1", ...known),
  ];
  await keeps(texts.join("\n"), "conform");
}, 60_000);

test("a client that is right each third time is flaky where it may be, and its list stays while cases did not run", async () => {
  const cwd = await started();
  const path = "schemas/my-agent";
  // Its first call is that of the plain stream, with which the others are compared.
  const third = ["--client", "node each.mjs 3"];
  const write = (name: string, text: string) => writeFile(join(cwd, name), text);
  await write("flaky.txt", "client/prompt/cut/* # slow\n");
  await write("known.txt", "client/prompt/** # all of it\nserver/** # another's\n");
  const cut = ["--only", "client/prompt/cut/1"];
  const flaky = await typed(cwd, path, ...third, ...cut, "--flaky", "flaky.txt");
  const partly = await typed(
    cwd,
    path,
    ...third,
    ...cut,
    ...["--flaky", "flaky.txt", "--known-failing", "known.txt", "--update-baseline"],
  );
  const always = ["--client", "node each.mjs 1", "--known-failing", "known.txt"];
  const passed = await typed(cwd, path, ...always, ...cut, "--update-baseline");
  const fixed = await typed(cwd, path, ...always, ...cut);
  const text = await readFile(join(cwd, "known.txt"), "utf8");
  await keeps([flaky, partly, passed, fixed, text].join("\n"), "conform-flaky");
}, 60_000);

test("an entry that also fits cases of the other side stays on the list, because those did not run", async () => {
  const cwd = await started();
  const entries = "*/prompt/malformed # both sides\nclient/prompt/malformed\n";
  await writeFile(join(cwd, "known.txt"), entries);
  const words = "conform schemas/my-agent --only client/prompt/malformed --known-failing known.txt --update-baseline";
  const ran = await run([...words.split(" "), "--client", "node each.mjs 0"], {
    cwd,
    env: {},
    stdin: (async function* () {})(),
    out() {},
    err() {},
  });
  expect(ran).toBe(0);
  expect(await readFile(join(cwd, "known.txt"), "utf8")).toBe("*/prompt/malformed # both sides\n");
}, 60_000);

test("a report goes to a file whose name may have =, and the program has ended with the command", async () => {
  const cwd = await started();
  await writeFile(
    join(cwd, "told.mjs"),
    `import { writeFileSync } from "node:fs";\nwriteFileSync("pid", String(process.pid));\n${clients["each.mjs"]}`,
  );
  const words = "conform schemas/my-agent --only client/prompt/cut/1 --report json=a=b=c.json";
  const code = await run([...words.split(" "), "--client", "exec node told.mjs 1"], {
    cwd,
    env: {},
    stdin: (async function* () {})(),
    out() {},
    err() {},
  });
  expect(code).toBe(0);
  expect(JSON.parse(await readFile(join(cwd, "a=b=c.json"), "utf8")).totals).toMatchObject({ passed: 1 });
  const pid = Number(await readFile(join(cwd, "pid"), "utf8"));
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
}, 60_000);

/** A live server that answers everything alike. */
async function answering(status: number): Promise<string> {
  const server = createServer((_, answer) => void answer.writeHead(status).end("no"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("Ctrl-C ends a run with the case that it meets, and the report has what ran and how long that took", async () => {
  const cwd = await started();
  const interrupt = new AbortController();
  const server = createServer((_, answer) => {
    interrupt.abort();
    answer.writeHead(500).end("no");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const began = performance.now();
  let err = "";
  const code = await run(`conform schemas/my-agent --server ${url} --allow-writes --report json=r.json`.split(" "), {
    cwd,
    env: {},
    stdin: (async function* () {})(),
    interrupt: () => interrupt.signal,
    out() {},
    err: (text) => {
      err += text;
    },
  });
  const [, ran, of] = /the run ended after (\d+) of (\d+) cases: it was interrupted/.exec(err)!.map(Number);
  const { ms, results } = JSON.parse(await readFile(join(cwd, "r.json"), "utf8"));
  expect([code, results.length]).toEqual([2, ran]);
  expect(ran).toBeLessThan(of!);
  expect(ms).toBeLessThanOrEqual(Math.ceil(performance.now() - began));
});

test("a live server is not written to without leave, and the report says what was skipped and why", async () => {
  const cwd = await started();
  const url = await answering(404);
  const live = ["--only", "server/prompt/live", "--only", "server/unknown-path"];
  const report = async (...words: string[]) => {
    await run(["conform", "schemas/my-agent", "--server", url, ...live, "--report", "json=r.json", ...words], {
      cwd,
      env: { PARLANCE_TOKEN: "token-of-mine" },
      stdin: (async function* () {})(),
      out() {},
      err() {},
    });
    const { totals, results, peers, contract, suite } = JSON.parse(await readFile(join(cwd, "r.json"), "utf8"));
    const outcomes = results.map(({ id, outcome, reason }: Record<string, string>) => [id, outcome, reason]);
    return { totals, outcomes, peers, name: contract.name, suite };
  };
  const none = { failed: 0, skipped: 0, known: 0, fixed: 0, flaky: 0 };
  expect(await report()).toEqual({
    suite: 1,
    name: "my-agent",
    peers: { server: url },
    totals: { ...none, passed: 1, skipped: 1 },
    outcomes: [
      ["server/unknown-path", "passed", undefined],
      ["server/prompt/live", "skipped", "may have an effect (--allow-writes)"],
    ],
  });
  expect((await report("--allow-writes")).outcomes[1]).toEqual([
    "server/prompt/live",
    "skipped",
    "prompt is answered with 404",
  ]);
});

test("a run in which every case is skipped proves nothing, and says so", async () => {
  const cwd = await started();
  const url = await answering(404);
  const ran = await parlance(cwd, `conform schemas/my-agent --server ${url} --only server/prompt/live`);
  expect(ran).toMatchObject({ code: 2, err: expect.stringContaining("no case was tried: 1 skipped") });
});

test.each([
  ["--server ftp://a.test", "ftp://a.test is not an http or https URL"],
  ["--server nowhere", "nowhere is not an http or https URL"],
  ["--server http://a.test --client cat", "name one of --server URL, --server-cmd CMD and --client CMD"],
  ["--client cat --wait=-1", "--wait -1 is not a number"],
  ["--client cat --wait 1.5", "--wait 1.5 is not a number"],
  ["--client cat --seed x", "--seed x is not a number"],
  ["--client cat --report json=", "write --report as FORMAT=FILE, with a format of json, ndjson, junit, html"],
  ["--client cat --report json", "write --report as FORMAT=FILE"],
  ["--client cat --report toString=x", "write --report as FORMAT=FILE"],
  ["--client cat --update-baseline", "--update-baseline needs --known-failing FILE"],
  ["--client cat --known-failing no.txt", "no.txt does not exist"],
  ["--client cat --flaky no.txt", "no.txt does not exist"],
  ["--client cat --report json=no/a.json", "no/a.json cannot be written: its folder does not exist"],
  ["--client cat --report json=schemas", "schemas is a folder, not a file"],
  ["--client cat --wait 1 --wait 2", "--wait is given twice, and has one value"],
  ["--server-cmd cat --only server/prompt/live", "no case of a server fits --only server/prompt/live --level should"],
])("conform with %s is answered with: %s", async (words, said) => {
  const { code, out, err } = await parlance(await started(), `conform schemas/my-agent ${words}`);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(said);
});
