import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Result } from "@parlance/conformance";
import { expect, onTestFinished, test, vi } from "vitest";
import { listAt, update } from "../src/baseline.js";
import type { Io } from "../src/io.js";
import { run } from "../src/run.js";
import { folder, parlance } from "./terminal.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const tsx = `${root}node_modules/.bin/tsx --tsconfig ${root}tsconfig.json`;
const adapter = (side: "server" | "client", contract: string) =>
  `${tsx} ${root}examples/conformance/${side}-adapter.ts ${contract}`;
const long = process.env.PARLANCE_LONG !== undefined;
const has = (...programs: string[]) => programs.every((program) => spawnSync(program, ["--version"]).status === 0);
const runs: Readonly<Record<string, boolean>> = { Python: has("python3"), bash: has("bash", "curl", "jq") };
for (const [language, does] of Object.entries(runs))
  if (!does) console.warn(`SKIPPED: conformance of the programs in ${language}, for want of it (or of curl and jq)`);

/** `parlance conform`, with words that have spaces. */
async function conform(cwd: string, ...words: string[]) {
  let out = "";
  let err = "";
  const print = (text: string) => {
    out += text;
  };
  const fail = (text: string) => {
    err += text;
  };
  const stdin = (async function* () {})();
  const code = await run(["conform", ...words], { cwd, env: {}, stdin, out: print, err: fail });
  return { code, out, err };
}

// A suite takes 20 s of processes and limits on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

test("the contract of a folder goes through the suite, as a server and as a client, without a line of its own", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example both");
  const contract = "schemas/my-agent";
  const server = await conform(
    cwd,
    contract,
    "--server-cmd",
    adapter("server", contract),
    "--report",
    "junit=server.xml",
    "--report",
    "html=server.html",
  );
  expect(server).toMatchObject({ code: 0, out: "" });
  const client = await conform(
    cwd,
    contract,
    "--client",
    adapter("client", contract),
    "--json",
    "--seed",
    "7",
    "--level",
    "must",
    // Without the forms of framing, which are most of the time.
    ...["message", "input", "cut", "schema"].flatMap((kind) => ["--only", `client/*/${kind}/**`]),
  );
  expect(client.code, client.out.slice(0, 2000)).toBe(0);

  const report = JSON.parse(client.out);
  expect(report).toMatchObject({
    suite: 1,
    contract: { name: "my-agent", digest: expect.stringMatching(/^sha256:/) },
    seed: 7,
    totals: { failed: 0 },
  });
  expect(report.results.length).toBeGreaterThan(20);
  const junit = await readFile(join(cwd, "server.xml"), "utf8");
  expect(junit).toContain(`tests="`);
  expect(junit).toContain(report.contract.digest);
  expect(await readFile(join(cwd, "server.html"), "utf8")).not.toContain("<script");
});

test("a failure says what was expected, what came, the bytes, and how to run it again; a list of known failures takes it", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  // A client that reads nothing.
  await writeFile(
    join(cwd, "silent.mjs"),
    `import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { url } = JSON.parse(line);
  await fetch(url).then((response) => response.text()).catch(() => {});
  console.log(JSON.stringify({ messages: [], error: null }));
}`,
  );
  const one = ["schemas/my-agent", "--client", "node silent.mjs", "--only", "client/*/message/**", "--wait", "3000"];
  const failed = await conform(cwd, ...one);
  expect(failed.code).toBe(1);
  expect(failed.out).toMatch(
    /^FAIL 3 cases: expected a request of prompt, .*\n {5}such as client\/prompt\/message\/done\/0 /,
  );
  expect(failed.out).toContain("again: parlance conform schemas/my-agent --client 'node silent.mjs'");
  const verbose = await conform(cwd, ...one, "-v");
  expect(verbose.out).toMatch(/^failed client\/\w+\/message\//);
  expect(verbose.out).toMatch(/\n {2}expected .*\n {2}came {5}/);
  expect(verbose.out).toMatch(/ ms {2}1 <- "GET \/ HTTP/);
  expect(verbose.out).toContain(failed.out);

  expect((await conform(cwd, ...one, "--known-failing", "known.txt", "--update-baseline")).code).toBe(0);
  const known = await readFile(join(cwd, "known.txt"), "utf8");
  expect(known).toMatch(/^client\/\w+\/message\//);
  expect((await conform(cwd, ...one, "--known-failing", "known.txt")).code).toBe(0);

  // A listed case that passes fails the run.
  const good = await conform(
    cwd,
    "schemas/my-agent",
    "--client",
    adapter("client", "schemas/my-agent"),
    "--only",
    "client/*/message/**",
    "--known-failing",
    "known.txt",
  );
  expect(good.code).toBe(1);
  expect(good.out).toContain("take it off the list");
});

test.each([
  ["no peer", ["schemas/my-agent"], "name one of --server"],
  ["a program that ends", ["schemas/my-agent", "--server-cmd", "false"], "printed no"],
  ["an unknown report", ["schemas/my-agent", "--report", "pdf=x", "--client", "cat"], "FORMAT=FILE"],
  ["an unknown level", ["schemas/my-agent", "--level", "can", "--client", "cat"], "must, should or may"],
  [
    "a pattern of --only that fits no case, beside one that does,",
    ["schemas/my-agent", "--client", "cat", "--only", "client/**", "--only", "client/sendd/**"],
    "--only: client/sendd/** fits no case of the suite",
  ],
  ["the same with --list", ["schemas/my-agent", "--list", "--only", "client/sendd/**"], "client/sendd/** fits no case"],
  [
    "a pattern that fits only cases of the other side",
    ["schemas/my-agent", "--client", "cat", "--only", "server/**"],
    "no case of a client fits --only server/** --level should",
  ],
  [
    "an entry of --known-failing that fits no case",
    ["schemas/my-agent", "--client", "cat", "--known-failing", "stale.txt"],
    "stale.txt: client/no/such/case fits no case",
  ],
  [
    "an entry of --flaky that fits no case",
    ["schemas/my-agent", "--client", "cat", "--flaky", "stale.txt"],
    "stale.txt: client/no/such/case fits no case",
  ],
])("%s is a mistake in the call", async (_, words, message) => {
  const cwd = await folder({ "stale.txt": "client/** # all\nclient/no/such/case # gone\n" });
  await parlance(cwd, "init --example sse");
  const { code, err } = await conform(cwd, ...words);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test("--update-baseline takes off only entries whose cases all ran and passed, and keeps the other lines as they are", async () => {
  const before = [
    "# What our client cannot do.",
    "client/send/cut/* # issue 5",
    "",
    "client/send/cut/1 # fixed",
    "client/send/*/2",
    "client/*/skipped # issue 6",
    "client/never/ran # issue 7",
    "server/** # another run's",
  ];
  const cwd = await folder({ "known.txt": before.map((line) => `${line}\n`).join("") });
  const outcomes: Readonly<Record<string, Result["outcome"]>> = {
    "client/send/cut/1": "fixed",
    "client/send/cut/2": "known",
    "client/a/skipped": "skipped",
    "client/b/passed": "passed",
    "client/c/failed": "failed",
  };
  const results = Object.entries(outcomes).map(([id, outcome]) => ({ id, outcome }) as Result);
  const ids = [...Object.keys(outcomes), "client/never/ran", "client/send/end/2", "server/a"];
  const io: Io = { cwd, env: {}, stdin: (async function* () {})(), out() {}, err() {} };
  await update("known.txt", await listAt("known.txt", ids, io), ids, results, io);
  const after = [...before.filter((line) => !line.includes("fixed")), "client/c/failed", ""];
  expect((await readFile(join(cwd, "known.txt"), "utf8")).split("\n")).toEqual(after);
});

test("a program that answers nothing ends the run with its reports", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const path = "schemas/my-agent";
  const silent = await conform(cwd, path, "--client", "echo no such model >&2; exit 3", "--report", "json=report.json");
  expect(silent.code).toBe(2);
  expect(silent.err).toMatch(/the run ended after 3 of \d+ cases: .*it ended with 3.*\n.*no such model/s);
  expect(silent.out).toContain("it ended with 3, after these lines on stderr: no such model\n");
  expect(JSON.parse(await readFile(join(cwd, "report.json"), "utf8")).totals).toMatchObject({ failed: 3, passed: 0 });
});

/** Programs in other languages. By default those of the two shortest contracts; of the slowest program a part. */
const CONTRACTS = ["fold-gateway", "based", ...(long ? ["loco", "agentsmithy", "emacs-agent"] : [])];
const foreign = [
  ...CONTRACTS.flatMap((contract) => [
    { language: "Python", contract, option: "--client", program: "python3 examples/python/client.py", only: "**" },
    { language: "Python", contract, option: "--server-cmd", program: "python3 examples/python/fixture.py", only: "**" },
  ]),
  {
    language: "bash",
    contract: "fold-gateway",
    option: "--client",
    program: "bash examples/bash/client.sh",
    only: long ? "**" : "client/send/no-end/*",
  },
].filter(({ language }) => runs[language]);

test.runIf(foreign.length > 0).each(foreign)(
  "$language passes $contract with $option, but for its list",
  async ({ language, contract, option, program, only }) => {
    const path = `schemas/${contract}`;
    const known = `examples/${language.toLowerCase()}/${contract}.known.txt`;
    const { code, out, err } = await conform(
      root,
      path,
      option,
      `${program} ${path}`,
      ...(existsSync(root + known) ? ["--known-failing", known] : []),
      "--only",
      only,
      "--wait",
      "20000",
    );
    if (long) console.log(`${language} ${option}: ${err}`);
    expect(out).toBe("");
    expect(code).toBe(0);
  },
  600_000,
);

test("a port at which nothing listens is one mistake, and no failure of cases", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const unused = createServer();
  await new Promise<void>((resolve) => unused.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(unused.address() as AddressInfo).port}`;
  await new Promise((resolve) => unused.close(resolve));
  const told = await conform(cwd, "schemas/my-agent", "--server", url);
  expect(told).toEqual({ code: 2, out: "", err: `parlance conform: nothing answers at ${url}: ECONNREFUSED\n` });
});

test("a live server that refuses the token is reported in one line, not only case by case", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example both");
  const server = createServer((_, answer) => {
    answer.writeHead(401, { "Content-Type": "application/json" }).end('{"error":"no"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const run = (...more: string[]) =>
    conform(cwd, "schemas/my-agent", "--server", `http://127.0.0.1:${port}`, "--allow-writes", ...more);
  expect((await run()).err).toMatch(/^the server refused the requests of \d+ cases with 401 or 403: give it a token/m);
  expect((await run("--token", "wrong-token-1")).err).toMatch(/with 401 or 403: it does not take the token$/m);
});

test("a token that the server repeats, whole or in two pieces, is in no report and on no terminal", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example both");
  const file = join(cwd, "schemas/my-agent/contract.json");
  const contract = JSON.parse(await readFile(file, "utf8"));
  const header = { apiKey: "required", header: "X-Harbor-Key" };
  const runs = [
    [{ bearer: "required" }, "RealTok-9f8e7d6c5b4a3b2c1d"],
    [header, 'quo"ted/9f8e+7d6c'],
    [header, "dev-7!"],
  ] as const;
  for (const [auth, token] of runs) {
    await writeFile(file, JSON.stringify({ ...contract, auth }));
    const wrong = `{"parlance":${JSON.stringify(token)},"url":"/?x=${encodeURIComponent(token)}"} ${token}`;
    const server = createServer((_, answer) => {
      answer.writeHead(200, { "Content-Type": "application/json", "X-Echo": token });
      answer.write(wrong.slice(0, -3));
      setTimeout(() => answer.end(wrong.slice(-3)), 20);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const formats = ["junit", "json", "ndjson", "html"];
    const reports = formats.flatMap((format) => ["--report", `${format}=${format}`]);
    const url = `http://127.0.0.1:${port}/?key=${encodeURIComponent(token)}`;
    const told = await conform(
      cwd,
      "schemas/my-agent",
      "--server",
      url,
      "--token",
      token,
      "--allow-writes",
      "--only",
      "server/*/live",
      "--only",
      "server/*/wrong-token",
      ...reports,
    );
    server.close();
    expect(told).toMatchObject({ code: 1 });
    const texts = [told.out, told.err, ...(await Promise.all(formats.map((one) => readFile(join(cwd, one), "utf8"))))];
    for (const text of texts)
      for (const form of [
        token,
        encodeURIComponent(token),
        JSON.stringify(token).slice(1, -1),
        token.slice(0, Math.max(8, token.length - 3)),
      ])
        expect(text).not.toContain(form);
    expect(texts[0]).toContain("__redacted_1__");
  }
});

test("a live stream may end with its sentinel, and not without it", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const file = join(cwd, "schemas/my-agent/contract.json");
  const contract = JSON.parse(await readFile(file, "utf8"));
  const { stream } = contract.operations.prompt.answer;
  stream.sentinel = "[DONE]";
  await writeFile(file, JSON.stringify(contract));
  for (const [body, code] of [
    ["data: [DONE]\n\n", 0],
    [": no\n\n", 1],
  ] as const) {
    const server = createServer((_, answer) => {
      answer.writeHead(200, { "Content-Type": "text/event-stream" });
      answer.end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const told = await conform(
      cwd,
      "schemas/my-agent",
      "--server",
      url,
      "--allow-writes",
      "--only",
      "server/prompt/live",
    );
    server.close();
    expect(told).toMatchObject({ code });
    if (code === 1) expect(told.out).toContain("or [DONE]");
  }
});
