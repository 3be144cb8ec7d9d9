import { isDeepStrictEqual } from "node:util";
import type { Patch } from "../patch.js";
import { describeChanges, type FileState, invertChanges, type Move, type PlannedFile, summarize } from "./changes.js";
import { Refused } from "./conflict.js";
import { contentHash, encodeText } from "./files.js";
import { checkName, foldName, type NameRules, quote, sameOnSome } from "./names.js";
import { isRecord } from "./shape.js";

/** The part of a plan that is applied. */
export interface Changes {
  readonly root: string;
  readonly files: readonly PlannedFile[];
  readonly moves: readonly Move[];
  readonly preview: Patch;
}

type Claims = Omit<Changes, "preview">;

/** Validates a plan that may have been edited or forged, all but its claims about the disk. @throws `Refused` */
export function readPlan(plan: unknown, rules: NameRules): Changes {
  if (!isRecord(plan) || !Array.isArray(plan.conflicts)) throw malformed("has no list of conflicts");
  const claims = readClaims(plan, rules);
  checkModes(claims);
  const preview = checkPreview(plan.preview, claims);
  checkCounts(plan, preview);
  return { ...claims, preview };
}

/** Reads the result of `applyPlan` and returns the changes that revert it. @throws `Refused` */
export function readWritten(written: unknown, rules: NameRules): Changes {
  const { root, files, moves } = readClaims(written, rules);
  checkCounts(written, describeChanges(files, moves));
  const claims = { root, ...invertChanges(files, moves) };
  const preview = checkPreview((written as { inverse?: unknown }).inverse, claims);
  // Restored files may have any permissions, but setuid, setgid and sticky bits only if the present files have them.
  const known = claims.files.reduce((bits, { before }) => bits | (before?.mode ?? 0), 0o777);
  for (const { path, after } of claims.files) if (after && (after.mode & ~known) !== 0) throw badMode(path, after.mode);
  return { ...claims, preview };
}

function malformed(what: string, path: string | null = null): Refused {
  return new Refused(path, "malformed", `The plan, or the result to undo, ${what}. Plan the edit again.`);
}

function readClaims(value: unknown, rules: NameRules): Claims {
  if (!isRecord(value)) throw malformed("is not an object");
  const { root, files, moves } = value;
  if (typeof root !== "string" || !Array.isArray(files) || !Array.isArray(moves))
    throw malformed("lacks its root, or a list of files or moves");
  // Not `map`, which skips the holes of an array.
  const read = Array.from(files, (file) => readFile(file, rules));
  checkPaths(read);
  return { root, files: read, moves: Array.from(moves, (move) => readMove(move, rules)) };
}

function readFile(value: unknown, rules: NameRules): PlannedFile {
  if (!isRecord(value)) throw malformed("has a file that is not an object");
  const path = readName(value.path, rules);
  const before = readState(value.before, path);
  const after = readState(value.after, path);
  if (!before && !after) throw malformed(`neither expects nor makes ${quote(path)}`, path);
  return { path, before, after };
}

function readMove(value: unknown, rules: NameRules): Move {
  if (!isRecord(value)) throw malformed("has a move that is not an object");
  return { from: readName(value.from, rules), to: readName(value.to, rules) };
}

function readName(value: unknown, rules: NameRules): string {
  if (typeof value !== "string") throw malformed("has a path that is not a string");
  const checked = checkName(value, rules);
  if (!checked.ok) throw new Refused(value, checked.reason, checked.message);
  if (checked.parts.join("/") !== value) throw malformed(`writes the path ${quote(value)} with a leading "./"`, value);
  return value;
}

function readState(value: unknown, path: string): FileState | null {
  if (value === null) return null;
  if (!isRecord(value) || typeof value.text !== "string") throw malformed(`has no text for ${quote(path)}`, path);
  const { text, hash, mode, umask } = value;
  const bytes = encodeText(text);
  if (bytes === null)
    throw new Refused(path, "not-utf8", `The plan's text of ${quote(path)} cannot be encoded as UTF-8.`);
  if (contentHash(bytes) !== hash) throw malformed(`has a text of ${quote(path)} that its hash does not fit`, path);
  if (!Number.isInteger(mode) || (mode as number) < 0 || (mode as number) > 0o7777)
    throw new Refused(path, "mode", `The plan gives ${quote(path)} permissions that do not exist.`);
  if (umask !== undefined && umask !== true) throw malformed(`has a mode of ${quote(path)} that cannot be read`, path);
  return { text, hash, mode: mode as number, ...(umask && { umask }) };
}

function checkPaths(files: readonly PlannedFile[]): void {
  const prefixes = new Map<string, string>();
  const kept = new Set(files.filter(({ after }) => after).map(({ path }) => path));
  const seen = new Set<string>();
  for (const { path, after } of files) {
    if (seen.has(path)) throw malformed(`lists ${quote(path)} twice`, path);
    seen.add(path);
    for (let end = path.indexOf("/"); ; end = path.indexOf("/", end + 1)) {
      const prefix = end < 0 ? path : path.slice(0, end);
      const other = prefixes.get(foldName(prefix)) ?? prefix;
      if (other !== prefix) throw new Refused(path, "case-collision", sameOnSome(path, other));
      prefixes.set(foldName(prefix), prefix);
      if (end < 0) break;
      if (after && kept.has(prefix)) throw inFile(path, prefix);
    }
  }
}

/** A file that the plan keeps cannot be another one's directory. */
export function inFile(path: string, parent: string): Refused {
  return new Refused(path, "not-directory", `${quote(parent)} is a file, so ${quote(path)} cannot be in it.`);
}

function checkModes({ files, moves }: Claims): void {
  const known = new Set(files.flatMap(({ before }) => (before ? [before.mode & ~0o111] : [])));
  const moved = new Set(moves.map(({ to }) => to));
  for (const { path, before, after } of files) {
    if (!after) continue;
    const { mode, umask } = after;
    const isKept = (before !== null || moved.has(path)) && known.has(mode & ~0o111);
    if (umask ? mode !== 0o644 && mode !== 0o755 : !isKept) throw badMode(path, mode);
  }
}

function badMode(path: string, mode: number): Refused {
  const message = `The plan gives ${quote(path)} the mode ${mode.toString(8)}, which is not its own and no new file's.`;
  return new Refused(path, "mode", message);
}

function checkPreview(preview: unknown, { files, moves }: Claims): Patch {
  const described = describeChanges(files, moves);
  if (!isDeepStrictEqual(preview, described)) throw malformed("has a preview of other changes than it makes");
  return described;
}

function checkCounts(value: unknown, preview: Patch): void {
  const { changes, summary } = value as { readonly changes?: unknown; readonly summary?: unknown };
  // A plan of an earlier version has neither.
  if ((changes ?? summary) !== undefined && !isDeepStrictEqual({ changes, summary }, summarize(preview)))
    throw malformed("counts other lines than it changes");
}
