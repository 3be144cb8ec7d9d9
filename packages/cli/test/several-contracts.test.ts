import { formatLine } from "@parlance/recordings/internal/entries";
import { expect, test } from "vitest";
import { folder, parlance, start, write } from "./terminal.js";

// Every command that takes a contract, on a folder with two and a third that cannot be read.

const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00.000Z", redacted: [] } as const;
const end = { end: { lines: 1, sha256: null } };
const recordingOf = (name?: string) => formatLine({ ...header, ...(name && { contract: { name } }) }) + formatLine(end);

async function several(): Promise<string> {
  const cwd = await folder({
    "unnamed.jsonl": recordingOf(),
    "named.jsonl": recordingOf("second"),
    "other.jsonl": recordingOf("fourth"),
  });
  await parlance(cwd, "init schemas/first --example sse");
  await parlance(cwd, "init schemas/second --example sse");
  return cwd;
}

/** Commands for one contract, where nothing names it. */
const undecided = [
  "conform schemas --list",
  "mock schemas",
  "mock schemas --from unnamed.jsonl",
  "record --target http://localhost:1 -o new.jsonl --contract schemas",
  "replay unnamed.jsonl --as server --contract schemas",
  "verify unnamed.jsonl --contract schemas",
  "export unnamed.jsonl --har --contract schemas",
  "inspect --target http://localhost:1",
  "inspect --open unnamed.jsonl",
  "stdio --server http://localhost:1 --contract schemas",
];

test("a command for one contract refuses a folder of several, and names the folders to type", async () => {
  const cwd = await several();
  for (const words of undecided) {
    const { code, out, err } = await parlance(cwd, words);
    expect({ words, code, out, err }).toEqual({
      words,
      code: 2,
      out: "",
      err: `parlance ${words.split(" ")[0]}: schemas has several contracts: give the folder of one in place of schemas (schemas/first, schemas/second)\n`,
    });
  }
});

/** The same with a recording that names its contract. */
const named = [
  ["mock schemas --from FILE --json", '"contract":"second"'],
  ["replay FILE --as server --contract schemas --json", '"url"'],
  ["verify FILE --contract schemas --json", '"contract": "second"'],
  ["export FILE --har --contract schemas", '"log"'],
  // It needs its page, which tests of its own open.
  ["inspect --open FILE --json", undefined],
] as const;

test("a recording chooses its contract of several, whatever is wrong with the others", async () => {
  const cwd = await several();
  await write(cwd, { "schemas/broken/contract.json": "{" });
  for (const [words, printed] of named) {
    if (printed !== undefined) {
      const session = start(cwd, words.replace("FILE", "named.jsonl"));
      await session.printed(printed);
      expect(await session.stop(), words).toBe(0);
    }
    const { code, err } = await parlance(cwd, words.replace("FILE", "other.jsonl"));
    expect({ words, code }).toEqual({ words, code: 2 });
    expect(err).toContain("schemas has no contract fourth: it has schemas/broken, schemas/first, schemas/second");
  }
});

/** Commands for all contracts of a folder. */
const all = ["lint schemas", "generate schemas --out src", "docs schemas --out docs", "compat schemas schemas"];

test("the other commands take every contract of a folder, and no command is left out", async () => {
  const cwd = await several();
  for (const words of all) expect(await parlance(cwd, words)).toMatchObject({ code: 0 });
  const { out } = await parlance("/", "--help");
  const tested = new Set([...undecided, ...all].map((words) => words.split(" ")[0]));
  const others = [...out.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name).filter((name) => !tested.has(name!));
  expect(others).toEqual(["init", "import", "apply", "completion"]);
});
