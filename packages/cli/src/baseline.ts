import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Result } from "@parlance/conformance";
import { anyOf, parseList } from "@parlance/conformance/internal/run";
import { type Io, UsageError } from "./io.js";

/** A list of cases in a file. */
export interface ListFile {
  readonly text: string;
  readonly entries: ReturnType<typeof parseList>;
}

/** Reads a list. Throws where an entry fits no case, because it then says nothing about this contract. */
export async function listAt(
  file: string | undefined,
  ids: readonly string[],
  io: Io,
  mayBeAbsent = false,
): Promise<ListFile> {
  if (file === undefined) return { text: "", entries: [] };
  const text = await readFile(resolve(io.cwd, file), "utf8").catch((error) => {
    if (mayBeAbsent && error.code === "ENOENT") return "";
    throw error;
  });
  const entries = parseList(text);
  meetPatterns(
    file,
    entries.map(({ pattern }) => pattern),
    ids,
  );
  return { text, entries };
}

/** Throws where a pattern fits no case of the suite: it has a slip, or its case has another name now. */
export function meetPatterns(where: string, patterns: readonly string[], ids: readonly string[]): void {
  const lost = patterns.filter((pattern) => !ids.some(anyOf([pattern])));
  if (lost.length === 0) return;
  throw new UsageError(`${where}: ${lost.join(", ")} fits no case of the suite; --level may --list has all`);
}

/**
 * Writes what fails now: a case that no entry fits gets a line. Of the other lines only an entry goes whose cases have all run and passed. `ids`
 * are the cases that could run. Returns the entries that would go, if all of their cases had run.
 */
export async function update(
  file: string,
  { text }: ListFile,
  ids: readonly string[],
  results: readonly Result[],
  io: Io,
): Promise<string[]> {
  const idsOf = (...outcomes: Result["outcome"][]) =>
    results.filter(({ outcome }) => outcomes.includes(outcome)).map(({ id }) => id);
  const failing = idsOf("failed", "known");
  const passed = new Set(idsOf("passed", "fixed"));
  const patterns: string[] = [];
  const partly: string[] = [];
  const kept = text.split("\n").filter((line) => {
    const [entry] = parseList(line);
    if (!entry) return true;
    const fitting = ids.filter(anyOf([entry.pattern]));
    if (fitting.length > 0 && fitting.every((id) => passed.has(id))) return false;
    patterns.push(entry.pattern);
    if (fitting.some((id) => passed.has(id)) && !failing.some((id) => fitting.includes(id))) partly.push(entry.pattern);
    return true;
  });
  while (kept.at(-1) === "") kept.pop();
  const covered = anyOf(patterns);
  const lines = [...kept, ...failing.filter((id) => !covered(id))];
  await writeFile(resolve(io.cwd, file), lines.map((line) => `${line}\n`).join(""));
  return partly;
}
