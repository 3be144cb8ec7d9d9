/**
 * Times create, parse, apply, invert and merge beside the npm packages that do the same and beside git, in one run:
 * `tsx packages/edits/bench/speed.ts [create|parse|apply|invert|merge] [seconds that one run may take] [--quick]`.
 * Medians in milliseconds; `> N s` where a peer was ended. Load is in every figure of a row alike: read the ratios.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPatch, formatPatch } from "@parlance/edits";
import { row } from "../../server/bench/row.js";
import { type Case, type Kind, makeFile, makeTexts, makeThree } from "./cases.js";
import type { Task } from "./measure.js";
import { type Operation, PEERS } from "./peers.js";

const quick = process.argv.includes("--quick");
const [only, limit] = process.argv.slice(2).filter((word) => word !== "--quick");
/** Seconds that a peer may take for one run: a tenth with `--quick`. */
const LIMIT = Number(limit ?? (quick ? 1 : 10));
const SIZES = [
  [100, 3],
  [5_000, 10],
  [5_000, 500],
  [100_000, 10],
  [100_000, 5_000],
  [1_000_000, 10],
  [1_000_000, 20_000],
] as const;
const EDITS: Case[] = SIZES.map(([lines, edits]) => ({ kind: "edits", lines, edits }));
const HARD_KINDS: Kind[] = ["unrelated", "shuffled", "reversed", "interleaved", "few distinct", "swapped blocks"];
const HARD: Case[] = HARD_KINDS.flatMap((kind) => [2_000, 20_000, 40_000].map((lines) => ({ kind, lines })));
const OTHER_FILES: Case[] = (["drifted", "CRLF"] as const).flatMap((file) =>
  EDITS.slice(1, 5).map((row) => ({ ...row, file })),
);
const ROWS: Record<Operation, Case[]> = {
  create: [...EDITS, ...HARD],
  parse: EDITS,
  apply: [...OTHER_FILES, ...EDITS],
  invert: EDITS,
  merge: EDITS,
};

/** Where every npm package took too long, git is the peer. */
const TOPIC = "edits beside the best npm package";

const folder = mkdtempSync(join(tmpdir(), "edits-speed-"));
const processes = new Map<string, ChildProcess>();
/** Peer, operation and kind that took too long: the larger rows of the kind are not tried. */
const tooSlow = new Set<string>();
try {
  for (const operation of Object.keys(ROWS) as Operation[])
    if (only === undefined || only === operation) await compare(operation);
} finally {
  for (const child of processes.values()) child.kill();
  rmSync(folder, { recursive: true });
}

async function compare(operation: Operation): Promise<void> {
  const names = Object.keys(PEERS).filter((name) => PEERS[name]![operation]);
  const best = names.filter((name) => name !== "parlance" && name !== "git");
  const head = [operation.padEnd(32), ...names, "best npm : us", ...(names.includes("git") ? ["us : git"] : [])];
  console.log(`\n${head.map((name) => name.padStart(9)).join("  ")}`);
  for (const one of ROWS[operation]) {
    writeTexts(one);
    const times = new Map<string, number>();
    for (const name of names) times.set(name, await time(name, operation, one));
    const ours = times.get("parlance")!;
    const cells = names.map((name) => show(times.get(name)!).padStart(Math.max(9, name.length)));
    const peer = Math.min(...best.map((name) => times.get(name)!));
    const beside = Number.isFinite(peer) ? peer : times.get("git");
    cells.push(`${Number.isFinite(peer) ? (peer / ours).toFixed(1) : "-"}`.padStart("best npm : us".length));
    if (names.includes("git")) cells.push((ours / times.get("git")!).toFixed(2).padStart(9));
    const label = `${one.lines} ${one.kind === "edits" ? `lines, ${one.edits} edits` : one.kind}${one.file ? `, ${one.file}` : ""}`;
    console.log([label.padEnd(32), ...cells].join("  "));
    if (beside !== undefined && Number.isFinite(beside))
      row({ topic: TOPIC, name: `${operation}, ${label}${beside === peer ? "" : ", git"}`, value: beside / ours });
  }
}

function show(time: number): string {
  return Number.isFinite(time) ? time.toFixed(time < 10 ? 2 : 0) : `> ${LIMIT} s`;
}

function writeTexts(row: Case): void {
  const [before, after] = makeTexts(row);
  const [, ours, theirs] = makeThree(row.lines, row.edits ?? 1);
  // With git's header, since some readers know no other.
  const patch = `diff --git a/x b/x\nindex 1234567..89abcde 100644\n${formatPatch(createPatch(before, after, { path: "x" }))}`;
  for (const [name, text] of Object.entries({ before: makeFile(before, row.file), after, patch, ours, theirs }))
    writeFileSync(join(folder, name), text);
}

/** The median, or infinity where the peer was ended. */
async function time(peer: string, operation: Operation, { kind, lines, edits }: Case): Promise<number> {
  const key = `${peer} ${operation} ${kind}${kind === "edits" && edits! > 10 ? " many" : ""}`;
  if (tooSlow.has(key)) return Number.POSITIVE_INFINITY;
  const child = processes.get(peer) ?? fork(fileURLToPath(new URL("measure.ts", import.meta.url)));
  processes.set(peer, child);
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const finish = (result: number) => {
      clearTimeout(timer);
      child.removeAllListeners();
      if (result === Number.POSITIVE_INFINITY) {
        child.kill("SIGKILL");
        processes.delete(peer);
        tooSlow.add(key);
      }
      resolve(result);
    };
    child.on("message", (message) => {
      if (message === "started") timer = setTimeout(() => finish(Number.POSITIVE_INFINITY), LIMIT * 1000);
      else if (message === "running") clearTimeout(timer);
      else finish(message as number);
    });
    child.on("exit", (code) => reject(new Error(`${peer} ended with ${code} at ${operation} of ${lines} ${kind}.`)));
    child.send({ peer, operation, folder } satisfies Task);
  });
}
