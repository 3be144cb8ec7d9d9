import { constants } from "node:buffer";
import { applyPatch } from "../apply.js";
import { explainConflict } from "../explain.js";
import type { FilePatch } from "../patch.js";
import type { AppliedHunk, ApplyOptions, ApplyResult, LineRange } from "../result.js";
import type { FileState, Plan } from "./changes.js";
import { type PlanConflict, type PlanReason, Refused, toConflict } from "./conflict.js";
import { contentHash, decodeText, encodeText } from "./files.js";
import { checkName, foldName, type NameRules, quote, sameOnSome, stripRoot } from "./names.js";
import { readRegular, refuseCollision, type Tree, walk } from "./root.js";
import { checkShape } from "./shape.js";

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
  readonly conflicts: PlanConflict[];
  readonly hunks: Plan["hunks"][number][];
}

/** One patch of several files. As for `git apply`, old names are those of the files at its start, in any order. */
interface Episode {
  readonly base: ReadonlyMap<string, FileState | null>;
  /** How many of the remaining file patches move or delete the path. */
  readonly leaving: Map<string, number>;
  /** Paths that a file patch has created, moved or copied a file to. */
  readonly placed: Set<string>;
  /** Paths whose original file has been moved or deleted. */
  readonly taken: Set<string>;
  /** Files whose path another file has taken, until they move or go themselves, and how many moves there were before. */
  readonly displaced: Map<string, { readonly state: FileState; readonly moves: number }>;
}

/** Applies a patch, perhaps of untrusted JSON, to the stage. A file patch that is refused leaves the stage as it was. */
export async function stagePatch(stage: Stage, { files }: { readonly files?: unknown }): Promise<void> {
  const { conflicts, roots, now, hunks } = stage;
  const refuse = (message: string) => conflicts.push({ path: null, reason: "malformed", message });
  if (!Array.isArray(files)) {
    refuse("The patch has no array of files.");
    return;
  }
  // Tools that use absolute paths write `a//home/me/project/x`; inside the root it is the file's own path.
  const strip = (path: string | null) => path && stripRoot(path, roots);
  const sound: FilePatch[] = [];
  files.forEach((file: FilePatch, index) => {
    const wrong = checkShape(file);
    if (wrong === null) sound.push({ ...file, before: strip(file.before), after: strip(file.after) });
    else refuse(`File ${index + 1} of the patch ${wrong}.`);
  });
  const leaving = new Map<string, number>();
  const count = (file: FilePatch, by: number) => {
    if (!isLeaving(file)) return;
    const path = plainName(file.before)!;
    leaving.set(path, (leaving.get(path) ?? 0) + by);
  };
  for (const file of sound) count(file, 1);
  const base = new Map(now);
  const episode: Episode = { base, leaving, placed: new Set(), taken: new Set(), displaced: new Map() };
  for (const file of sound) {
    count(file, -1);
    try {
      hunks.push(await stageFile(stage, episode, file));
    } catch (error) {
      conflicts.push(toConflict(error, file.after ?? file.before));
    }
  }
}

/** A name without a leading `./`, which stands for the same file. */
function plainName(path: string | null): string | undefined {
  return path?.replace(/^\.\//, "");
}

/** Whether a file leaves its path. A rename to its own name is a change of the file. */
function isLeaving({ kind, before, after }: FilePatch): boolean {
  return kind === "delete" || (kind === "rename" && plainName(before) !== plainName(after));
}

async function stageFile(stage: Stage, episode: Episode, file: FilePatch): Promise<Plan["hunks"][number]> {
  const claim = (name: string | null) => (name === null ? null : claimName(stage, name));
  const [before, after] = [claim(file.before), claim(file.after)];
  refuseModes(file);
  if (before !== null) refuseSource(episode, file, before);
  const source = before === null ? null : await lookSource(stage, episode, file, before);
  const applied = applyTo(stage, file, before, source);
  const isPlaced = after !== null && file.kind !== "modify" && !(file.kind === "rename" && before === after);
  if (isPlaced) await refuseTarget(stage, episode, file, after, applied.text);
  const state = after === null ? null : newState(file, source, applied.text);
  if (before !== null && isLeaving(file)) leave(stage, episode, before, after);
  if (after !== null) stage.now.set(after, state);
  if (isPlaced) episode.placed.add(after);
  return { path: (after ?? before)!, hunks: applied.hunks };
}

function leave(stage: Stage, episode: Episode, before: string, after: string | null): void {
  const displaced = episode.displaced.get(before);
  if (after !== null) stage.moves.splice(displaced?.moves ?? stage.moves.length, 0, { from: before, to: after });
  episode.taken.add(before);
  if (displaced) episode.displaced.delete(before);
  else stage.now.set(before, null);
}

function applyTo(stage: Stage, file: FilePatch, before: string | null, source: FileState | null) {
  const text = source?.text ?? "";
  const at = stage.ranges.get(before ?? "") ?? stage.apply.at;
  const applied = applyBlocks(file, text, { ...stage.apply, at });
  if (applied.ok) return applied;
  const { conflicts } = applied;
  const path = file.after ?? file.before!;
  const lines = conflicts.slice(0, EXPLAINED).map((conflict) => explainConflict(conflict, file, text));
  if (conflicts.length > EXPLAINED) lines.push(`${conflicts.length - EXPLAINED} more of its changes do not apply.`);
  if (source) lines.push(`The file is ${source.hash} now.`);
  throw new Refused(path, "hunks", `${quote(path)} does not take the patch:\n${lines.join("\n")}`, conflicts);
}

/** The number of conflicts of one file that its message explains; the rest are counted. */
const EXPLAINED = 5;

/** How git's `index` line begins for a file without bytes; its deletion has no hunk that would say so. */
const EMPTY_BLOB = "e69de29";

/** Blocks without numbers that are not all in the file may be about what those before them made, as other tools have it. */
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

/** A path as components joined. @throws `Refused` by the rules, and for a name that equals another of the plan on some file system. */
export function claimName(stage: Stage, name: string): string {
  const checked = checkName(name, stage.rules);
  if (!checked.ok) throw new Refused(name, checked.reason, checked.message);
  let prefix = "";
  for (const part of checked.parts) {
    prefix = prefix === "" ? part : `${prefix}/${part}`;
    const other = stage.folds.get(foldName(prefix)) ?? prefix;
    if (other !== prefix) throw new Refused(name, "case-collision", sameOnSome(name, other));
    stage.folds.set(foldName(prefix), prefix);
  }
  return prefix;
}

function refuseModes(file: FilePatch): void {
  const { oldMode, newMode, git } = file;
  const path = file.after ?? file.before!;
  const refuse = (mode: string, why: string) => {
    throw new Refused(path, "mode", `The patch gives ${quote(path)} the mode ${mode}${why}`);
  };
  for (const mode of [oldMode, newMode, git?.mode])
    if (mode?.startsWith("100") === false) refuse(mode, ", which is no regular file's; only those are edited.");
  if (newMode !== undefined && newMode !== oldMode && !/^100(?:6[46]{2}|7[57]{2})$/.test(newMode))
    refuse(newMode, "; git knows 100644 and 100755 alone.");
}

/** Refuses a file patch that cannot mean a file of that path, if several in this patch could be meant. */
function refuseSource({ displaced, placed, taken }: Episode, { kind }: FilePatch, path: string): void {
  const doubt = "is changed between a file put there and its removal; which is meant is not certain.";
  if (displaced.has(path)) {
    if (kind === "modify") throw refused(path, "exists", doubt);
  } else if (kind === "rename" && taken.has(path))
    throw refused(path, "missing", "has been moved or deleted by this patch already.");
  else if (kind === "delete" && placed.has(path))
    throw new Refused(path, "exists", `The patch deletes ${quote(path)}, which it has made itself.`);
}

async function lookSource(stage: Stage, episode: Episode, file: FilePatch, path: string): Promise<FileState | null> {
  const { kind, git } = file;
  const held = kind === "copy" ? episode.base.get(path) : episode.displaced.get(path)?.state;
  const start = kind === "copy" && held === undefined ? await readState(stage, path) : held;
  const source = start ?? (await look(stage, path));
  if (source === null && !file.whole)
    throw refused(path, "missing", `does not exist, so it cannot be changed by a ${kind}.`, file.after ?? path);
  if (kind === "delete" && git?.index?.startsWith(EMPTY_BLOB) && source?.text !== "")
    throw refused(path, "stale", "is to be deleted as an empty file, and is not empty. Read it again.");
  return source;
}

async function refuseTarget(stage: Stage, episode: Episode, file: FilePatch, path: string, text: string) {
  const there = await look(stage, path);
  if (there === null) await refuseCollision(await walk(stage.tree, path));
  else if (!episode.placed.has(path) && (episode.leaving.get(path) ?? 0) > 0)
    episode.displaced.set(path, { state: there, moves: stage.moves.length });
  else if (file.whole && !episode.placed.has(path)) return;
  else if (file.kind === "create" && there.text === text)
    throw refused(path, "already-applied", "is there already, with the very text it should get.");
  else throw refused(path, "exists", `exists already, so a ${file.kind} would overwrite it.`);
}

function refused(path: string, reason: PlanReason, what: string, about = path): Refused {
  return new Refused(about, reason, `${quote(path)} ${what}`);
}

/** The present state of a file in the stage; null if it does not exist. */
export async function look(stage: Stage, path: string): Promise<FileState | null> {
  const held = stage.now.get(path);
  return held === undefined ? readState(stage, path) : held;
}

/** Reads a file below the root, once. @throws `Refused` for what is not a regular file with valid UTF-8 in it. */
async function readState({ disk, tree, limit }: Stage, path: string): Promise<FileState | null> {
  const known = disk.get(path);
  if (known !== undefined) return known;
  const { directory, missing, name } = await walk(tree, path);
  const content =
    missing === null ? await readRegular(directory, name, Math.min(limit, constants.MAX_STRING_LENGTH)) : null;
  const text = content && decodeText(content.bytes);
  if (content && text === null)
    throw new Refused(null, "not-utf8", `${quote(path)} is not valid UTF-8; only text in UTF-8 is edited.`);
  const state = content && { text: text!, hash: contentHash(content.bytes), mode: content.stat.mode & 0o7777 };
  disk.set(path, state);
  return state;
}

function newState(file: FilePatch, source: FileState | null, text: string): FileState {
  const path = file.after!;
  const bytes = encodeText(text);
  if (bytes === null)
    throw refused(path, "not-utf8", "gets a text with half of a surrogate pair, which UTF-8 cannot encode.");
  return { text, hash: contentHash(bytes), ...modeOf(file, source) };
}

function modeOf({ kind, newMode }: FilePatch, source: FileState | null): { mode: number; umask?: true } {
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
