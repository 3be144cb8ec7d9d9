import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import "./page.js";
import type { Io } from "../src/io.js";
import { run } from "../src/run.js";
import { shown } from "./session.js";
import { folder, parlance, write } from "./terminal.js";

// What each command answers to words that do not fit, and to those at the edge of it. `-u` rewrites the files.

/** Types words of which one may have spaces, with Ctrl-C pressed at once. */
async function typed(
  cwd: string,
  words: readonly string[],
  env: Record<string, string> = {},
  terminal: Partial<Io> = { interrupt: () => AbortSignal.abort() },
): Promise<string> {
  let out = "";
  let err = "";
  const code = await run(words, {
    cwd,
    env,
    stdin: (async function* () {})(),
    ...terminal,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return shown(cwd, words.join(" "), { code, out, err })
    .replace(/#token=[\w-]+/g, "#token=TOKEN")
    .replace(/"ms": [\d.]+/g, '"ms": 0')
    .replace(/^ +\d+(\.\d)? ms .*\n/gm, "");
}

const transcript = "schemas/my-agent/transcripts/first.jsonl";
/** A recording that is cut behind its first line. */
const header = (more = "") => `{"recording":1${more},"versions":{},"began":"2026-11-24T00:00:00.000Z","redacted":[]}\n`;

const mistakes: Readonly<Record<string, readonly string[]>> = {
  common: [
    "",
    "help",
    "--version",
    "-v",
    "version",
    "nothing",
    "toString",
    "lint --wat",
    "lint -h x",
    "completion",
    "completion tcsh",
    "completion bash zsh",
  ],
  folders: [
    "lint nowhere",
    "lint empty",
    "lint two",
    "generate nowhere",
    "docs empty",
    "generate",
    "docs",
    "generate two/a",
    "compat two/a two/nowhere",
    "compat two/a two/b",
    "compat two two",
    "init",
    "init two/a",
    "init Upper",
    "init a_b --example sse",
    "init fresh --example",
    "init fresh --example sse --extends two/a",
    "init fresh --extends nowhere",
  ],
  record: [
    "record",
    "record --target http://a",
    "record --target ftp://a -o x",
    "record --target http:// -o x",
    "record --target http://me:pw@a -o x",
    "record --target http://me@a -o x",
    ...["-1", "65536", "1.5", "x"].map((port) => `record --target http://a -o x --port=${port}`),
    "record --target http://a -o x --redact=",
    "record --target http://a -o x --redact (",
    "record --target http://127.0.0.1:1 -o x.jsonl",
    "record --target http://127.0.0.1:1 -o x.jsonl",
    "record --target http://127.0.0.1:1 -o y.jsonl --json",
    "record --target http://a -o z --contract two",
  ],
  replay: [
    "replay",
    "replay --as server",
    "replay x --as proxy",
    `replay ${transcript} ${transcript} --as server`,
    "replay nowhere --as server",
    `replay ${transcript} --as client`,
    ...["ftp://a", "http://", "a"].map((url) => `replay ${transcript} --as client --target ${url}`),
    ...["speed", "wait", "port"].flatMap((name) =>
      ["-1", "x", "Infinity"].map((value) => `replay ${transcript} --as server --${name}=${value}`),
    ),
    `replay ${transcript} --as server --value a`,
    `replay ${transcript} --as server --value =a`,
    `replay ${transcript} --as client --target http://a --header a`,
    `replay ${transcript} --as server`,
    `replay ${transcript} --as server --json`,
    ...["1.5", "65536"].map((port) => `replay ${transcript} --as server --port ${port}`),
    `replay ${transcript} --as server --origin localhost:5173`,
    `replay ${transcript} --as client --target http://a --origin http://localhost:5173`,
    "replay flawed.jsonl --as server",
    "replay flawed.jsonl --as server --json --speed 2 --wait 0",
  ],
  mock: [
    "mock",
    "mock two",
    "mock two/a two/b",
    ...["-1", "x", "65536", "1.5"].map((port) => `mock schemas/my-agent --port=${port}`),
    ...["-1", "x", "1.5"].map((seed) => `mock schemas/my-agent --seed=${seed}`),
    ...["-1", "x"].map((speed) => `mock schemas/my-agent --speed=${speed}`),
    "mock schemas/my-agent --origin localhost:5173",
    "mock schemas/my-agent --speed 1.5 --seed 0",
    "mock schemas/my-agent --json --seed 3",
    ...["latency", "cut", "stall", "malformed"].flatMap((name) =>
      ["0", "1", "5-2", "2-2", "a", "1-", "1234567890"].map((value) => `mock schemas/my-agent --${name} ${value}`),
    ),
    `mock schemas/my-agent --from ${transcript}`,
    `mock schemas/my-agent --from ${transcript} --json`,
    "mock schemas/my-agent --from flawed.jsonl",
    "mock schemas --from other.jsonl",
    "mock two/a --from other.jsonl",
  ],
  recordings: [
    "verify",
    "verify a b",
    "verify nowhere",
    "verify flawed.jsonl",
    `verify ${transcript}`,
    `verify ${transcript} --json`,
    "verify elsewhere.jsonl",
    "verify elsewhere.jsonl --contract schemas",
    "verify other.jsonl --contract schemas",
    "export",
    "export x",
    "export x --har --md",
    "export flawed.jsonl --har --json",
    "export flawed.jsonl --har --url nothing",
    "export empty.jsonl --md",
    "export flawed.jsonl --md",
    "export flawed.jsonl --md -o out.md --json",
    "export flawed.jsonl --md -o out.md",
    `export ${transcript} --md -o first.md --json`,
    `export ${transcript} --har -o first.har --json --url http://a`,
    "export empty.jsonl --har -o none.har",
  ],
  inspect: [
    "inspect",
    "inspect x",
    "inspect --target ftp://a",
    "inspect --target http://",
    "inspect --target http://me:pw@a",
    "inspect --target http://me@a",
    "inspect --target http://a --contract two",
    "inspect --target http://a --contract nowhere",
    ...["port", "page-port"].flatMap((name) =>
      ["-1", "x", "65536", "1.5"].map((port) => `inspect --target http://a --${name}=${port}`),
    ),
    "inspect --target http://a --root nowhere",
    "inspect --target http://a --cases flawed.jsonl",
    "inspect --target http://a --header a",
    "inspect --target http://a --header :a",
    "inspect --target http://a --redact (",
    "inspect --open nowhere",
    "inspect --open flawed.jsonl",
    "inspect --open flawed.jsonl --json",
    "inspect --target http://127.0.0.1:1",
    "inspect --target http://127.0.0.1:1 --json",
  ],
  conform: [
    "conform",
    "conform two",
    "conform two/a two/b",
    "conform nowhere --list",
    "conform schemas/my-agent",
    "conform schemas/my-agent --server http://a --client x",
    "conform schemas/my-agent --server ftp://a",
    "conform schemas/my-agent --server a",
    "conform schemas/my-agent --server http://a --level all",
    "conform schemas/my-agent --server http://a --seed x",
    "conform schemas/my-agent --server http://a --seed=-1",
    "conform schemas/my-agent --server http://a --wait 1.5",
    "conform schemas/my-agent --server http://a --report junit",
    "conform schemas/my-agent --server http://a --report junit=",
    "conform schemas/my-agent --server http://a --report tap=x",
    "conform schemas/my-agent --server http://a --report toString=x",
    "conform schemas/my-agent --server http://a --only nothing",
    "conform schemas/my-agent --server http://a --only client/**",
    "conform schemas/my-agent --client x --only server/** --level must",
    "conform schemas/my-agent --server-cmd x --only client/**",
    "conform schemas/my-agent --server http://a --update-baseline",
    "conform schemas/my-agent --server http://a --known-failing nowhere",
    "conform schemas/my-agent --server http://a --known-failing none.txt",
    "conform schemas/my-agent --server http://a --flaky none.txt",
  ],
};

test.each(Object.keys(mistakes))(
  "the answers to words of %s that do not fit are as they are listed",
  async (what) => {
    const cwd = await folder({
      "empty/x": "",
      "flawed.jsonl": header(),
      "empty.jsonl": "",
      "none.txt": "# a list\nclient/nothing # gone\n",
      "other.jsonl": header(',"contract":{"name":"other","digest":"sha256:0"}'),
      "elsewhere.jsonl": '{"note":"A transcript."}\n',
    });
    await parlance(cwd, "init --example sse");
    await parlance(cwd, "init two/a --example sse");
    await parlance(cwd, "init two/b --example websocket");
    await write(cwd, {
      [transcript]:
        '{"note":"One call."}\n{"from":"client","call":"prompt","input":{"prompt":"Hi"},"request":{"method":"POST","target":"/prompt","body":"{\\"prompt\\":\\"Hi\\"}"}}\n{"from":"server","end":"cut"}\n',
    });
    const texts: string[] = [];
    for (const words of mistakes[what]!) texts.push(await typed(cwd, words.split(" ").filter(Boolean)));
    await expect(texts.join("\n")).toMatchFileSnapshot(`./sessions/mistakes-${what}.txt`);
  },
  60_000,
);

test("a server that lets nobody in is reported with the token that is missing or wrong", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? "-"}`);
    response.writeHead(request.url === "/api/prompt" ? 403 : 401).end("no");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const only = ["--only", "server/prompt/live", "--only", "server/unknown-path"];
  const conform = (...words: string[]) => ["conform", "schemas/my-agent", "--server", ...words, ...only];
  const texts: string[] = [];
  const go = async (words: string[], env = {}) => void texts.push(await typed(cwd, words, env, {}));
  await go(conform(url));
  await go(conform(url, "--allow-writes"));
  await go(conform(`${url}/api`, "--token", "a b'c", "--allow-writes", "--wait", "4000"));
  await go(conform(`${url}/`, "--json", "--level", "must"), { PARLANCE_TOKEN: "hunter2-hunter2" });
  expect(texts.join("")).not.toMatch(/hunter2|a b'c.*again/);
  await expect(`${texts.join("\n")}\n${asked.join("\n")}\n`).toMatchFileSnapshot("./sessions/conform-refused.txt");
}, 60_000);
