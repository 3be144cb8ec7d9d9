// Spoils real changes as models do, and counts what each program makes of them: correct / refused / WRONG, by kind.
// Below each format: how many hunks each rung has placed. "letter by letter" forgives no misspelt word.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPairs } from "./pairs.js";
import { exactOnce, gitApply, gnuPatch, jsdiffWith } from "./perturb-peers.js";
import {
  FORMATS,
  type FormatOfCase,
  isRecoverable,
  isRefusal,
  makeCases,
  type Program,
  parlance,
  type Score,
  score,
} from "./spoilt.js";

const seed = Number(process.env.SEED ?? 1);
const folder = mkdtempSync(join(tmpdir(), "perturb-"));

const programs: Record<FormatOfCase, Record<string, Program>> = {
  unified: {
    parlance: parlance("unified"),
    "letter by letter": parlance("unified", { loosest: "context" }),
    "jsdiff fuzz 0": jsdiffWith(0),
    "jsdiff fuzz 2": jsdiffWith(2),
    "git --recount": gitApply(join(folder, "git")),
    "GNU patch": gnuPatch(join(folder, "patch")),
  },
  "begin-patch": {
    parlance: parlance("begin-patch"),
    "letter by letter": parlance("begin-patch", { loosest: "context" }),
  },
  "search-replace": {
    parlance: parlance("search-replace"),
    "letter by letter": parlance("search-replace", { loosest: "context" }),
    "exact, once": exactOnce,
  },
  "str-replace": {
    parlance: parlance("str-replace"),
    "letter by letter": parlance("str-replace", { loosest: "context" }),
    "exact, once": exactOnce,
  },
  "str-replace with text": { parlance: parlance("str-replace with text") },
};

try {
  const pairs = readPairs();
  console.log(`${pairs.length} pairs of files, seed ${seed}; correct / refused / WRONG`);
  for (const format of FORMATS) report(format, programs[format]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function report(format: FormatOfCase, columns: Record<string, Program>): void {
  const cases = makeCases(format, readPairs(), seed);
  const counts = new Map<string, number>();
  const count = parlance(format, {}, (repairs) => {
    for (const rung of repairs.length > 0 ? repairs : ["exact"]) counts.set(rung, (counts.get(rung) ?? 0) + 1);
  });
  score(cases, count);
  const names = Object.keys(columns);
  const scores = names.map((name) => score(cases, columns[name]!));
  console.log(`\n${`${format}: ${cases.length} cases`.padEnd(46)}${names.map((name) => name.padEnd(18)).join("")}`);
  for (const kind of scores[0]!.keys())
    printRow(
      kind,
      scores.map((each) => show(each.get(kind)!)),
    );
  printRow(
    "recoverable",
    scores.map((each) => rate(sum(each, isRecoverable))),
  );
  printRow(
    "violated",
    scores.map((each) => `${sum(each, isRefusal).wrong} of ${total(sum(each, isRefusal))}`),
  );
  const hunks = [...counts].sort(([, a], [, b]) => b - a).map(([rung, count]) => `${rung} ${count}`);
  console.log(`hunks written by rung: ${hunks.join(", ")}`);
}

function printRow(label: string, cells: readonly string[]): void {
  console.log(label.padEnd(46) + cells.map((cell) => cell.padEnd(18)).join(""));
}

function show({ correct, refused, wrong }: Score): string {
  return `${correct} / ${refused} / ${wrong}`;
}

function sum(scores: ReadonlyMap<string, Score>, isCounted: (kind: string) => boolean): Score {
  const all: Score = { correct: 0, refused: 0, wrong: 0 };
  for (const [kind, each] of scores) {
    if (!isCounted(kind)) continue;
    all.correct += each.correct;
    all.refused += each.refused;
    all.wrong += each.wrong;
  }
  return all;
}

function total({ correct, refused, wrong }: Score): number {
  return correct + refused + wrong;
}

function rate(all: Score): string {
  const percent = (part: number) => `${((100 * part) / total(all)).toFixed(1)}%`;
  return `${percent(all.correct)}, ${percent(all.wrong)} wrong`;
}
