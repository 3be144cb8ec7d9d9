import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";

/** A row of a protocol's FACTS.md: what its document states, with the names of the places that hold it and of its tests. */
export interface Fact {
  readonly protocol: string;
  readonly section: string;
  readonly fact: string;
  readonly held: readonly string[];
  readonly tested: readonly string[];
}

/** A test file with the words of a title in it, as an expression for vitest. */
export interface NamedTest {
  readonly test: string;
  readonly title: string;
}

const PROTOCOL_TESTS = "packages/protocols/test";

/** Tests of programs that may not be installed: Chromium, Emacs, Python, curl. */
const mayBeSkipped = /^peers\/(?:peers|emacs)\.test\.ts#/;

export function readFacts(root: string): Fact[] {
  const protocols = readdirSync(`${root}/schemas`).filter((name) => existsSync(`${root}/schemas/${name}/FACTS.md`));
  return protocols.flatMap((protocol) =>
    rowsOf(readFileSync(`${root}/schemas/${protocol}/FACTS.md`, "utf8")).map(
      ([section = "", fact = "", held = "", tested = ""]) => ({
        protocol,
        section,
        fact,
        held: namesIn(held),
        tested: namesIn(tested),
      }),
    ),
  );
}

/** The cells of each row. */
export function rowsOf(list: string): string[][] {
  return list
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| section |"))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** The names in back quotes. */
export function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
}

/** The file of a place or a test, which is in the folder or else at the root, and the words behind its #. */
export function split(root: string, folder: string, name: string): [file: string, words: string] {
  const [path = "", words = ""] = name.split(/#(.*)/s);
  const near = posix.join(folder, path);
  return [existsSync(`${root}/${near}`) ? near : path, words];
}

/** The tests that a fact names, without those that may be skipped. A sample and a line of a transcript are tests of every protocol. */
export function testsOf(root: string, { protocol, tested }: Fact): NamedTest[] {
  return tested.flatMap((name) => {
    if (mayBeSkipped.test(name)) return [];
    const [, sample] = /^sample (\d+)$/.exec(name) ?? [];
    if (sample !== undefined)
      return [
        { test: `${PROTOCOL_TESTS}/documents.test.ts`, title: `Of the ${protocol} document, the sample ${sample}, ` },
        {
          test: `${PROTOCOL_TESTS}/conversations/samples.test.ts`,
          title: `The samples of ${protocol}, .* sample ${sample}, `,
        },
      ];
    const [, transcript] = /^([\w.-]+)\.jsonl \d+$/.exec(name) ?? [];
    if (transcript !== undefined)
      return [
        { test: `${PROTOCOL_TESTS}/transcripts.test.ts`, title: `The ${protocol} transcript ${transcript} ` },
        {
          test: `${PROTOCOL_TESTS}/conversations/transcripts.test.ts`,
          title: `${protocol}.? our \\w+ holds the transcript ${transcript}$`,
        },
      ];
    const [test, words] = split(root, PROTOCOL_TESTS, name);
    return [{ test, title: expressionOf(words) }];
  });
}

/** Words of a title as they are written, with whatever a table puts into them and with or without back quotes. */
function expressionOf(words: string): string {
  return words
    .split(/%[sdifjop#]|\$\{[^}]*\}|\$[\w.]+/)
    .map((part) => [...part].map((char) => char.replace(/[\\^$.*+?()[\]{}|]/, "\\$&")).join("`?"))
    .join(".*");
}
