import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { applyPatch, createPatch, formatPatch, invertPatch, merge3, parsePatch } from "@parlance/edits";
import * as jsdiff from "diff";
import { diff as fastMyersDiff } from "fast-myers-diff";
import parseDiff from "parse-diff";
import { DefaultLinesDiffComputer } from "vscode-diff";

const require = createRequire(import.meta.url);
const diffSequences: typeof import("diff-sequences").default = require("diff-sequences").default;
const gitdiffParser: { parse(text: string): unknown } = require("gitdiff-parser");
const diff3Merge: (ours: string[], base: string[], theirs: string[]) => { ok?: string[] }[] = require("diff3");

/** What a row is made of; the files hold the same texts, for peers that are a process. */
export interface Texts {
  readonly before: string;
  readonly after: string;
  readonly patch: string;
  readonly ours: string;
  readonly theirs: string;
  readonly folder: string;
}

export type Operation = "create" | "parse" | "apply" | "invert" | "merge";

/** Prepares, untimed, what the operation starts from, and gives the function that is timed. */
export type Peer = Partial<Record<Operation, (texts: Texts) => () => unknown>>;

const lines = (text: string) => text.split("\n");

function readOurs(text: string) {
  const reading = parsePatch(text);
  if (!reading.ok) throw new Error(reading.errors[0]!.message);
  return reading.patch;
}

function must<T extends { ok: boolean }>(result: T): T {
  if (!result.ok) throw new Error("The operation failed, so its time says nothing.");
  return result;
}

/** Reads a character, since an engine may put off the joining of a text's pieces until then. */
function touch(text: string | null): number {
  must({ ok: text !== null });
  return text!.charCodeAt(text!.length >> 1);
}

function differ() {
  const computer = new DefaultLinesDiffComputer();
  const options = { ignoreTrimWhitespace: false, computeMoves: false, maxComputationTimeMs: 0 };
  return (before: string, after: string) => computer.computeDiff(lines(before), lines(after), options);
}

/** Every one starts from texts. Those that only find the changed lines, without making hunks of them, do less than we. */
export const PEERS: Record<string, Peer> = {
  parlance: {
    create:
      ({ before, after }) =>
      () =>
        createPatch(before, after, { path: "x" }),
    parse:
      ({ patch }) =>
      () =>
        must(parsePatch(patch)),
    apply: ({ before, patch }) => {
      const read = readOurs(patch);
      return () => {
        const result = applyPatch(read, before);
        return touch(result.ok ? result.text : null);
      };
    },
    invert: ({ patch }) => {
      const read = readOurs(patch);
      return () => formatPatch(invertPatch(read));
    },
    merge:
      ({ before, ours, theirs }) =>
      () =>
        must(merge3(before, ours, theirs)),
  },
  git: {
    create:
      ({ folder }) =>
      () => {
        const args = ["diff", "--no-index", "--no-color", "before", "after"];
        const { status } = spawnSync("git", args, { cwd: folder, maxBuffer: 1 << 30 });
        if (status !== 1) throw new Error(`git diff ended with ${status}.`);
      },
    merge:
      ({ folder }) =>
      () => {
        const { status } = spawnSync("git", ["merge-file", "-p", "ours", "before", "theirs"], {
          cwd: folder,
          maxBuffer: 1 << 30,
        });
        if (status !== 0) throw new Error(`git merge-file ended with ${status}.`);
      },
  },
  jsdiff: {
    create:
      ({ before, after }) =>
      () =>
        jsdiff.structuredPatch("x", "x", before, after, "", "", { context: 3 }),
    parse:
      ({ patch }) =>
      () =>
        jsdiff.parsePatch(patch),
    apply: ({ before, patch }) => {
      const read = jsdiff.parsePatch(patch)[0]!;
      return () => touch(jsdiff.applyPatch(before, read) || null);
    },
    invert: ({ patch }) => {
      const read = jsdiff.parsePatch(patch)[0]!;
      return () => jsdiff.formatPatch(jsdiff.reversePatch(read));
    },
  },
  "diff-sequences": {
    create:
      ({ before, after }) =>
      () => {
        const [a, b] = [lines(before), lines(after)];
        let common = 0;
        diffSequences(
          a.length,
          b.length,
          (i, j) => a[i] === b[j],
          (count) => {
            common += count;
          },
        );
        return common;
      },
  },
  "fast-myers-diff": {
    create:
      ({ before, after }) =>
      () => [...fastMyersDiff(lines(before), lines(after))],
  },
  "vscode-diff": {
    create: ({ before, after }) => {
      const compare = differ();
      return () => compare(before, after);
    },
  },
  "parse-diff": {
    parse:
      ({ patch }) =>
      () =>
        parseDiff(patch),
  },
  "gitdiff-parser": {
    parse:
      ({ patch }) =>
      () =>
        gitdiffParser.parse(patch),
  },
  diff3: {
    merge:
      ({ before, ours, theirs }) =>
      () =>
        diff3Merge(lines(ours), lines(before), lines(theirs))
          .flatMap(({ ok }) => ok ?? [])
          .join("\n"),
  },
};
