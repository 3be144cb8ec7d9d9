import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { formatLine } from "@parlance/recordings/internal/entries";
import { expect, test } from "vitest";
import { folder, parlance, write } from "./terminal.js";

// Every command that takes a contract refuses one that lint refuses.

const commands = [
  "conform schemas/my-agent --list",
  "conform schemas/my-agent --server http://localhost:1 --json",
  "mock schemas/my-agent --json",
  "record --target http://localhost:1 -o new.jsonl --contract schemas --json",
  "verify talk.jsonl --json",
  "verify talk.jsonl --contract schemas/my-agent",
  "verify schemas/my-agent/transcripts/prompt.jsonl",
  "replay talk.jsonl --as server --contract schemas --json",
  "export talk.jsonl --har --contract schemas",
  "inspect --target http://localhost:1 --json",
];

test("a contract that lint refuses is refused by each command with lint's sentence, exit code 2 and no output", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const path = join(cwd, "schemas/my-agent/contract.json");
  const contract = JSON.parse(await readFile(path, "utf8"));
  const header = {
    recording: 1,
    contract: { name: "my-agent" },
    versions: {},
    began: "2026-01-01T00:00:00.000Z",
    redacted: [],
  } as const;
  await write(cwd, {
    "schemas/my-agent/contract.json": JSON.stringify({ ...contract, tag: { in: "property", property: "kind" } }),
    "talk.jsonl": formatLine(header),
  });
  for (const words of commands) {
    const { code, out, err } = await parlance(cwd, words);
    expect({ words, code, out }).toEqual({ words, code: 2, out: "" });
    expect(err).toMatch(/^parlance \w+: \S+ is no contract that parlance lint takes\n {2}\S+:\d+.* \[tag\]\n/);
  }
});

test("the list has every command whose help has a contract", async () => {
  const { out } = await parlance("/", "--help");
  const names = [...out.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name!);
  const taking: string[] = [];
  for (const name of names)
    if (/CONTRACT|--contract DIR/.test((await parlance("/", `${name} --help`)).out)) taking.push(name);
  expect(new Set(commands.map((words) => words.split(" ")[0]))).toEqual(new Set(taking));
});
