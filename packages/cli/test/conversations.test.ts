import { appendFileSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connect } from "@parlance/client";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, onTestFinished, test } from "vitest";
import "./page.js";
import { serving, session, steady, typed } from "./session.js";
import { folder, parlance, write } from "./terminal.js";

// What a user sees of the commands that serve, record and replay, in the form for people and as JSON.

const keeps = (text: string, name: string) => expect(text).toMatchFileSnapshot(`./sessions/${name}.txt`);

/** The contract that init writes, with its server. */
async function agent() {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const contract = contractValue(await load(join(cwd, "schemas/my-agent")));
  const app = serve(contract, {
    async *prompt({ prompt = "" }: { prompt?: string }) {
      yield { type: "text", text: `You said ${prompt}` };
      yield { type: "done", text: prompt };
    },
  });
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  const talk = async (baseUrl: string, prompt = "hello") => {
    const heard: object[] = [];
    const client = connect(contract, { baseUrl, retryWaits: [], resume: false });
    for await (const message of client.prompt({ prompt })) heard.push(message);
    return heard;
  };
  return { cwd, url: server.url, talk };
}

test("record, verify, replay, mock and export tell what they do", async () => {
  const { cwd, url, talk } = await agent();
  const texts: string[] = [];
  texts.push(await serving(cwd, `record --target ${url} -o talk.jsonl --contract schemas`, (at) => talk(at)));
  texts.push(await serving(cwd, `record --target ${url} -o again.jsonl --json --metadata-only`, (at) => talk(at)));
  texts.push(await serving(cwd, `record --target ${url} -o left.jsonl --redact hello`, (at) => talk(at)));
  expect(readFileSync(join(cwd, "left.jsonl"), "utf8")).not.toContain("hello");
  expect(readFileSync(join(cwd, "again.jsonl"), "utf8")).not.toContain("hello");
  expect(JSON.parse(readFileSync(join(cwd, "talk.jsonl"), "utf8").split("\n")[0]!)).toMatchObject({
    contract: { name: "my-agent", digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
    versions: { "@parlance/cli": expect.any(String), node: process.versions.node },
  });
  texts.push(await session(cwd, [`record --target ${url} -o talk.jsonl`, `record --target ${url} -o no/talk.jsonl`]));

  await writeFile(
    join(cwd, "cut.jsonl"),
    (await readFile(join(cwd, "talk.jsonl"), "utf8")).replace(/\n[^\n]*\n$/, "\n"),
  );
  await writeFile(join(cwd, "odd.jsonl"), (await readFile(join(cwd, "talk.jsonl"), "utf8")).replace("hello", "hallo"));
  for (const file of ["talk", "again", "cut", "odd"])
    texts.push(await session(cwd, [`verify ${file}.jsonl`, `verify ${file}.jsonl --contract schemas --json`]));

  const answered = async (at: string) => void (await talk(at));
  const asked = async (at: string) => void (await talk(at, "bye").catch(() => {}));
  texts.push(await serving(cwd, "replay talk.jsonl --as server", answered));
  texts.push(await serving(cwd, "replay talk.jsonl --as server --json --contract schemas", answered));
  texts.push(await serving(cwd, "replay talk.jsonl --as server", asked));
  texts.push(await serving(cwd, "replay cut.jsonl --as server --json", asked));
  for (const words of ["talk.jsonl", "again.jsonl", "cut.jsonl", "odd.jsonl"])
    texts.push(
      await session(cwd, [
        `replay ${words} --as client --target ${url} --wait 20000`,
        `replay ${words} --as client --target ${url} --wait 20000 --json`,
      ]),
    );
  texts.push(await typed(cwd, `replay talk.jsonl --as client --target ${url} --value hello=bye`));
  texts.push(await typed(cwd, `replay talk.jsonl --as client --target ${url} --value hello=bye --ignore text`));

  texts.push(await serving(cwd, "mock schemas", answered));
  texts.push(await serving(cwd, "mock schemas --json --seed 3", answered));
  texts.push(await serving(cwd, "mock schemas --from talk.jsonl --from cut.jsonl", answered));
  texts.push(await serving(cwd, "mock schemas --from talk.jsonl --json --latency 0 --speed 0.5", answered));
  texts.push(await serving(cwd, "mock schemas --cut 2-2", asked));

  const exports = ["talk.jsonl --md -o talk.md", "talk.jsonl --md -o talk.md", "cut.jsonl --har -o cut.har --json"];
  texts.push(
    await session(
      cwd,
      exports.map((words) => `export ${words}`),
    ),
  );
  texts.push(
    await session(
      cwd,
      ["talk.jsonl --har -o talk.har --json --url https://a.test"].map((one) => `export ${one}`),
    ),
  );
  const { log } = JSON.parse(await readFile(join(cwd, "talk.har"), "utf8"));
  expect(log.entries.map(({ request }: { request: { url: string } }) => request.url)).toEqual([
    "https://a.test/prompt",
  ]);
  const plain = JSON.parse((await parlance(cwd, "export talk.jsonl --har")).out);
  expect(plain.log.entries[0].request.url).toBe("http://localhost/prompt");
  const markdown = (await parlance(cwd, "export talk.jsonl --md")).out;
  expect(await readFile(join(cwd, "talk.md"), "utf8")).toBe(markdown);
  await keeps(texts.join("\n"), "conversations");
}, 60_000);

test("verify tells a thousand findings, and counts the others", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
  const request = (c: number) => ({
    t: c,
    c,
    from: "client",
    kind: "request",
    method: "GET",
    // A finding that repeats a long one is cut.
    target: `/no${c === 1 ? "o".repeat(100_000) : ""}`,
    headers: [],
  });
  await write(cwd, { "many.jsonl": `${JSON.stringify(header)}\n` });
  for (let c = 1; c <= 1002; c++) appendFileSync(join(cwd, "many.jsonl"), `${JSON.stringify(request(c))}\n`);
  const { code, out, err } = await parlance(cwd, "verify many.jsonl --contract schemas");
  const lines = out.trim().split("\n");
  expect({ code, lines: lines.length, last: lines.at(-1) }).toEqual({ code: 1, lines: 1001, last: "and 2 more" });
  expect(lines[0]).toMatch(/^.{2000,2100}… \[route\]$/);
  expect(steady(err, cwd)).toMatchInlineSnapshot(`
    "many.jsonl: the file is cut (there is no end line), 1003 lines
    many.jsonl: 0 messages of 1002 connections checked against my-agent (schema, order, exchange, end, status, header, route, form): 1002 wrong
    "
  `);
  const { findings, more } = JSON.parse((await parlance(cwd, "verify many.jsonl --contract schemas --json")).out);
  expect({ findings: findings.length, more }).toEqual({ findings: 1000, more: 2 });
});

test.each([
  [1, "1 line cannot be replayed"],
  [2, "2 lines cannot be replayed"],
])("verify without a contract tells %i that cannot be replayed", async (count, said) => {
  const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
  const request = { t: 0, from: "client", kind: "request", method: "GET", target: "http://a.test/", headers: [] };
  const requests = Array.from({ length: count }, (_, c) => ({ ...request, c: c + 1 }));
  const cwd = await folder({ "talk.jsonl": [header, ...requests].map((line) => `${JSON.stringify(line)}\n`).join("") });
  const { code, out, err } = await parlance(cwd, "verify talk.jsonl");
  expect({ code, lines: out.trim().split("\n").length }).toEqual({ code: 1, lines: count });
  expect(out).toMatch(/^talk\.jsonl:2: .* \[route\]$/m);
  expect(err).toContain(`talk.jsonl: ${said}; no message was checked: name the contract with --contract DIR\n`);
});

/** Numbers at and beyond their bounds. What is right fails only afterwards, for the want of a file. */
const ENOENT = "does not exist";
const numbers: readonly [words: string, said: string][] = [
  ["record --target http://a.test -o no/a.jsonl --port 65535", ENOENT],
  ["record --target http://a.test -o no/a.jsonl --port 0", ENOENT],
  ["record --target http://a.test -o a.jsonl --port 65536", "65536 is not a port"],
  ["record --target http://a.test -o a.jsonl --port -1", "'--port'"],
  ["record --target http://a.test -o a.jsonl --port=-1", "-1 is not a port"],
  ["record --target http://a.test -o a.jsonl --port 1.5", "1.5 is not a port"],
  ["record --target ftp://a.test -o a.jsonl", "ftp://a.test is not an http or https URL"],
  ["record --target http:// -o a.jsonl", "http:// is not an http or https URL"],
  ["record --target http://ann@a.test -o a.jsonl", "--target has a user name or password"],
  ["record --target http://:pass@a.test -o a.jsonl", "--target has a user name or password"],
  ["record --target http://a.test -o a.jsonl --contract nowhere", "nowhere is not a folder"],
  ["mock schemas --from no.jsonl --port 65535 --seed 0 --speed 0.5 --latency 0 --cut 1 --stall 3-3", ENOENT],
  ["mock schemas --from no.jsonl --port 65536", "--port 65536 is not a number that fits"],
  ["mock schemas --from no.jsonl --seed 1.5", "--seed 1.5 is not a number that fits"],
  ["mock schemas --from no.jsonl --seed=-1", "--seed -1 is not a number that fits"],
  ["mock schemas --from no.jsonl --speed=-1", "--speed -1 is not a number that fits"],
  ["mock schemas --from no.jsonl --speed fast", "--speed fast is not a number that fits"],
  ["mock schemas --malformed 0-3", "--malformed 0-3 is neither a number from 1 on nor a range such as 2-5"],
  ["mock schemas --stall 0", "--stall 0 is neither a number from 1 on"],
  ["mock schemas --latency 5-4", "--latency 5-4 is neither a number from 0 on"],
  ["mock schemas more", "name one contract: the folder of its contract.json"],
  ["replay talk.jsonl --as client --speed=-1", "--speed -1 is not a number"],
  ["replay talk.jsonl --as client --wait=-1", "--wait -1 is not a number"],
  ["replay talk.jsonl --as client --wait long", "--wait long is not a number"],
  ["replay talk.jsonl --as server --port=-1", "--port -1 is not a number"],
  ["replay talk.jsonl --as client --speed 0 --wait 0", "--target URL is needed: where the server is"],
  ["replay talk.jsonl --as client --target ftp://a.test", "ftp://a.test is not an http or https URL"],
  ["replay talk.jsonl --as client --target http://a.test --header :x", "write it as --header NAME:VALUE"],
  ["replay talk.jsonl --as client --target http://a.test --header secret", "write it as --header NAME:VALUE"],
  ["replay talk.jsonl --as client --value secret", "write it as --value OLD=NEW"],
  ["replay talk.jsonl --as client --value =new", "write it as --value OLD=NEW"],
  ["replay talk.jsonl --as other", "say --as server or --as client"],
  ["replay talk.jsonl more.jsonl --as client", "name one recording"],
  ["export talk.jsonl --har --md", "say --har or --md"],
  ["export talk.jsonl --har --json", "--json is about the file that -o names"],
  ["export talk.jsonl --har --url nowhere", "nowhere is not a URL"],
  ["export text.txt --md", "text.txt: "],
  ["inspect --target http://a.test --port 65535 --page-port 65535 --contract no", "no is not a folder"],
  ["inspect --target http://a.test --page-port 65536", "--page-port 65536 is not a port"],
  ["inspect --target http://a.test --port=-1", "--port -1 is not a port"],
  ["inspect --target http://a.test --port 1.5", "--port 1.5 is not a port"],
  ["inspect --target http://a.test --header :1", "write it as --header NAME:VALUE"],
  ["inspect --target http://ann@a.test", "send it by --header"],
  ["inspect --target http://:pass@a.test", "send it by --header"],
  ["inspect --target http://", "http:// is not an http or https URL"],
  ["inspect --target http://a.test --cases text.txt", "--cases text.txt is not a folder"],
  ["inspect --open text.txt", "text.txt: "],
];
test.each(numbers)("%s is answered with: %s", async (words, said) => {
  const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
  const cwd = await folder({ "talk.jsonl": `${JSON.stringify(header)}\n`, "text.txt": "text\n" });
  await parlance(cwd, "init --example sse");
  const { code, out, err } = await parlance(cwd, words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(said);
});

test("a server that is gone while it is recorded is an error for the client, and the file is whole", async () => {
  const cwd = await folder();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const status: number[] = [];
  await serving(cwd, `record --target http://127.0.0.1:${port} -o gone.jsonl`, async (at) => {
    status.push((await fetch(`${at}/x`)).status);
  });
  expect(status).toEqual([502]);
  expect(await parlance(cwd, "verify gone.jsonl")).toMatchObject({ code: 0 });
});
