import { constants } from "node:buffer";
import { applyPatch } from "../apply.js";
import { explainConflict } from "../explain.js";
import type { ApplyOptions, LineRange } from "../match/aligner.js";
import type { FileKind, FilePatch } from "../patch.js";
import type { AppliedHunk, ApplyResult } from "../result.js";
import { type PlanConflict, type PlanReason, toConflict } from "./conflict.js";
import { contentHash, decodeText, encodeText } from "./hash.js";
import { checkName, foldName, type NameRules, quote } from "./names.js";
import { FileRefusal, readRegular, refuseCollision } from "./root.js";
import { type Tree, walk } from "./tree.js";

/** A file's text and the identity of its bytes. */
export interface FileState {
  readonly text: string;
  /** `sha256:<hex>` of the bytes. */
  readonly hash: string;
  /** Permission bits. */
  readonly mode: number;
  /** The mode was requested by a patch rather than read from a file; the process's umask applies to it. */
  readonly umask?: true;
}

/** The future workspace: the files on disk with the file patches so far applied. */
export interface Stage {
  readonly tree: Tree;
  readonly rules: NameRules;
  /** The root's path as given by the caller, and its real path. */
  readonly roots: readonly string[];
  readonly limit: number;
  readonly apply: ApplyOptions;
  readonly ranges: ReadonlyMap<string, LineRange>;
  readonly disk: Map<string, FileState | null>;
  readonly now: Map<string, FileState | null>;
  readonly moves: { readonly from: string; readonly to: string }[];
  /** Every path and directory named so far, by its fold. */
  readonly folds: Map<string, string>;
}

/**
 * One patch of several files. As for `git apply`, old names are those of the files at its start, in any order: a file that
 * takes the path of one that a later file patch moves or deletes does not replace it.
 */
export interface Episode {
  readonly base: ReadonlyMap<string, FileState | null>;
  /** How many of the remaining file patches move or delete the path. */
  readonly leaving: Map<string, number>;
  /** Paths that a file patch has created, moved or copied a file to. */
  readonly placed: Set<string>;
  /** Paths whose original file has been moved or deleted. */
  readonly taken: Set<string>;
  /** Files whose path another file has taken, until they are moved or deleted themselves. */
  readonly displaced: Map<string, Displaced>;
}

interface Displaced {
  readonly state: FileState;
  /** How many moves there were before the other file came. */
  readonly moves: number;
}

export type Staged =
  | { readonly ok: true; readonly path: string; readonly hunks: readonly AppliedHunk[] }
  | { readonly ok: false; readonly conflict: PlanConflict };

/** Applies one file patch to the stage; on a conflict the stage stays as it was. */
export async function stageFile(stage: Stage, episode: Episode, file: FilePatch): Promise<Staged> {
  const shown = file.after ?? file.before;
  try {
    return await stageChecked(stage, episode, file);
  } catch (error) {
    return { ok: false, conflict: toConflict(error, shown) };
  }
}

async function stageChecked(stage: Stage, episode: Episode, file: FilePatch): Promise<Staged> {
  const path = file.after ?? file.before ?? "";
  const refuse = (reason: PlanReason, message: string): Staged => ({ ok: false, conflict: { path, reason, message } });

  const before = file.before === null ? null : claimName(stage, file.before);
  const after = file.after === null ? null : claimName(stage, file.after);
  if (before?.conflict) return { ok: false, conflict: before.conflict };
  if (after?.conflict) return { ok: false, conflict: after.conflict };
  for (const mode of [file.oldMode, file.newMode, file.git?.mode])
    if (mode !== undefined && !mode.startsWith("100"))
      return refuse(
        "mode",
        `The patch gives ${quote(path)} the mode ${mode}, which is no regular file's; only those are edited.`,
      );

  if (before) {
    const refusal = refuseSource(episode, file.kind, before.path);
    if (refusal) return refuse(...refusal);
  }
  if (file.newMode !== undefined && !/^100(?:6[46]{2}|7[57]{2})$/.test(file.newMode) && file.newMode !== file.oldMode)
    return refuse(
      "mode",
      `The patch gives ${quote(path)} the mode ${file.newMode}; git knows 100644 and 100755 alone.`,
    );
  const source = before ? await lookSource(stage, episode, file, before.path) : null;
  if (before && source === null && !file.whole)
    return refuse("missing", `${quote(before.path)} does not exist, so it cannot be changed by a ${file.kind}.`);

  if (file.kind === "delete" && file.git?.index?.startsWith(EMPTY_BLOB) && source?.text !== "")
    return refuse("stale", `${quote(path)} is to be deleted as an empty file, and is not empty. Read it again.`);

  const at = (before && stage.ranges.get(before.path)) ?? stage.apply.at;
  const applied = applyBlocks(file, source?.text ?? "", { ...stage.apply, at });
  if (!applied.ok) {
    const text = source?.text ?? "";
    const told = applied.conflicts.slice(0, EXPLAINED).map((conflict) => explainConflict(conflict, file, text));
    const more = applied.conflicts.length - told.length;
    if (more > 0) told.push(`${more} more of its changes do not apply.`);
    if (source) told.push(`The file is ${source.hash} now.`);
    const message = `${quote(path)} does not take the patch:\n${told.join("\n")}`;
    return { ok: false, conflict: { path, reason: "hunks", message, hunks: applied.conflicts } };
  }

  const toItself = file.kind === "rename" && before?.path === after?.path;
  if (after && file.kind !== "modify" && !toItself) {
    const refusal = await checkTarget(stage, episode, file, after.path, applied.text);
    if (refusal) return { ok: false, conflict: refusal };
  }
  let state: FileState | null = null;
  if (after) {
    const bytes = encodeText(applied.text);
    if (bytes === null)
      return refuse("not-utf8", `The new text of ${quote(path)} has half of a surrogate pair, which UTF-8 cannot say.`);
    state = { text: applied.text, hash: contentHash(bytes), ...newMode(file, source) };
  }
  if (before && after && file.kind === "rename" && !toItself)
    stage.moves.splice(episode.displaced.get(before.path)?.moves ?? stage.moves.length, 0, {
      from: before.path,
      to: after.path,
    });
  if (before && (file.kind === "delete" || file.kind === "rename") && !toItself) {
    episode.taken.add(before.path);
    // Another file has its path already.
    if (!episode.displaced.delete(before.path)) stage.now.set(before.path, null);
  }
  if (after) {
    stage.now.set(after.path, state);
    if (file.kind !== "modify" && !toItself) episode.placed.add(after.path);
  }
  return { ok: true, path: after?.path ?? before?.path ?? "", hunks: applied.hunks };
}

/** The number of conflicts of one file that its message explains; the rest are counted. */
const EXPLAINED = 5;

/** How git's `index` line begins for a file without bytes; its deletion has no hunk that would say so. */
const EMPTY_BLOB = "e69de29";

/**
 * Blocks without line numbers are about the file as it was before the first of them, or, where some are not to be found in
 * that, about what those before them made, as other tools have it; nothing looser than line endings is asked of that text.
 */
function applyBlocks(file: FilePatch, text: string, options: ApplyOptions): ApplyResult {
  const whole = applyPatch(file, text, options);
  // What earlier blocks made has other lines than those that a range names.
  if (whole.ok || options.at || file.hunks.length < 2 || file.hunks.some(({ oldStart }) => oldStart !== null))
    return whole;
  // An ambiguous block stays so, though an earlier one may have left one place of two.
  if (whole.conflicts.some(({ reason }) => reason !== "not-found" && reason !== "overlap")) return whole;
  const hunks: AppliedHunk[] = [];
  let made = text;
  for (const hunk of file.hunks) {
    const applied = applyPatch({ ...file, hunks: [hunk] }, made, { loosest: "line-endings", ...options });
    if (!applied.ok) return whole;
    made = applied.text;
    hunks.push(...applied.hunks);
  }
  return { ok: true, text: made, hunks };
}

export interface Claim {
  readonly path: string;
  readonly conflict?: PlanConflict;
}

/** Checks a name by the rules, and against names of the plan that are equal to it on some file system. */
export function claimName(stage: Stage, name: string): Claim {
  const checked = checkName(name, stage.rules);
  if (!checked.ok) return { path: name, conflict: { path: name, reason: checked.reason, message: checked.message } };
  let prefix = "";
  for (const part of checked.parts) {
    prefix = prefix === "" ? part : `${prefix}/${part}`;
    const fold = foldName(prefix);
    const other = stage.folds.get(fold);
    if (other === undefined) stage.folds.set(fold, prefix);
    else if (other !== prefix) {
      const message = `${quote(name)} and ${quote(other)} differ only in case or composition; on some systems they are one.`;
      return { path: name, conflict: { path: name, reason: "case-collision", message } };
    }
  }
  return { path: prefix };
}

/** Why the file patch cannot mean a file of that path, if several in this patch could be meant. */
function refuseSource(episode: Episode, kind: FileKind, path: string): [PlanReason, string] | null {
  const { displaced, placed, taken } = episode;
  if (kind === "copy" || kind === "create") return null;
  if (displaced.has(path))
    return kind === "modify"
      ? ["exists", `${quote(path)} is changed between a file put there and its removal; which is meant is not certain.`]
      : null;
  if (kind === "rename" && taken.has(path))
    return ["missing", `${quote(path)} has been moved or deleted by this patch already.`];
  if (kind === "delete" && placed.has(path))
    return ["exists", `The patch deletes ${quote(path)}, which it has made itself.`];
  return null;
}

/** Copies are of the file at the patch's start, as in `git apply`; every other change continues from the present text. */
async function lookSource(stage: Stage, episode: Episode, file: FilePatch, path: string): Promise<FileState | null> {
  if (file.kind !== "copy") return episode.displaced.get(path)?.state ?? look(stage, path);
  const held = episode.base.get(path);
  return (held === undefined ? await readState(stage, path) : held) ?? look(stage, path);
}

async function checkTarget(
  stage: Stage,
  episode: Episode,
  file: FilePatch,
  path: string,
  text: string,
): Promise<PlanConflict | null> {
  const there = await look(stage, path);
  if (there === null) {
    const parts = path.split("/");
    const { directory, missing } = await walk(stage.tree, parts);
    await refuseCollision(stage.tree.files, directory, missing ?? parts.at(-1)!);
    return null;
  }
  if (!episode.placed.has(path) && (episode.leaving.get(path) ?? 0) > 0) {
    episode.displaced.set(path, { state: there, moves: stage.moves.length });
    return null;
  }
  if (file.whole && !episode.placed.has(path)) return null;
  return file.kind === "create" && there.text === text
    ? { path, reason: "already-applied", message: `${quote(path)} is there already, with the very text it should get.` }
    : { path, reason: "exists", message: `${quote(path)} exists already, so a ${file.kind} would overwrite it.` };
}

/** The present state of a file in the stage; null if it does not exist. */
export async function look(stage: Stage, path: string): Promise<FileState | null> {
  const held = stage.now.get(path);
  return held === undefined ? readState(stage, path) : held;
}

async function readState(stage: Stage, path: string): Promise<FileState | null> {
  const known = stage.disk.get(path);
  if (known !== undefined) return known;
  const state = await readDisk(stage.tree, path, stage.limit);
  stage.disk.set(path, state);
  return state;
}

/** Reads a file below the root. Throws `FileRefusal` for what is not a regular file with valid UTF-8 in it. */
export async function readDisk(tree: Tree, path: string, limit: number): Promise<FileState | null> {
  const parts = path.split("/");
  const { directory, missing } = await walk(tree, parts);
  const most = Math.min(limit, constants.MAX_STRING_LENGTH);
  const content = missing === null ? await readRegular(tree.files, directory, parts.at(-1)!, most) : null;
  if (content === null) return null;
  const text = decodeText(content.bytes);
  if (text === null)
    throw new FileRefusal("not-utf8", path, `${quote(path)} is not valid UTF-8; only text in UTF-8 is edited.`);
  return { text, hash: contentHash(content.bytes), mode: content.stat.mode & 0o7777 };
}

function newMode({ kind, newMode }: FilePatch, source: FileState | null): { mode: number; umask?: true } {
  const executable = newMode === undefined ? undefined : newMode[3] === "7";
  // As git does it: a new file has one of two modes, a copy's too, and of an old one only the executable bits are the
  // patch's to say; they follow the read bits.
  if (source === null || source.umask || kind === "copy") {
    const mode = (executable ?? ((source?.mode ?? 0) & 0o100) !== 0) ? 0o755 : 0o644;
    return { mode, umask: true };
  }
  if (newMode === undefined) return { mode: source.mode };
  return { mode: executable ? source.mode | ((source.mode & 0o444) >> 2) : source.mode & ~0o111 };
}
