/** From an edit block in a model's text to a `diff` message, and from a `diff` message to a patch that is safe to plan. */

import {
  applyPatch,
  createPatch,
  explainConflict,
  type FilePatch,
  formatPatch,
  type Hunk,
  type LineRange,
  type Patch,
  parseEditBlocks,
  parsePatch,
} from "@parlance/edits";
import { agentsmithy, type DiffMessage } from "../src/agentsmithy.js";

export type DiffMessages =
  | { readonly ok: true; readonly messages: readonly DiffMessage[] }
  | { readonly ok: false; readonly reason: string };

/**
 * Makes the `diff` messages of the edit blocks in a model's text: "These blocks are automatically parsed and converted to diff events."
 * Each changed file gets one message. `line_start` and `line_end` are the lines that its blocks name, before the change: all lines of a
 * deleted file, and 1 of a new one. `read` returns a file's text, or undefined where there is none. With the text a block is checked and
 * needs no line numbers; without it, a changed or deleted file does. A path that is not relative is refused.
 */
export function toDiffMessages(
  text: string,
  read: (file: string) => string | undefined = () => undefined,
): DiffMessages {
  const reading = parseEditBlocks(text);
  if (!reading.ok) return { ok: false, reason: reading.errors.map(({ message }) => message).join(" ") };
  const messages: DiffMessage[] = [];
  for (const file of reading.patch.files) {
    const path = file.after ?? file.before ?? "";
    const made = placed(file, file.kind === "create" ? "" : read(path));
    if (typeof made === "string") return { ok: false, reason: made };
    const message: DiffMessage = { type: "diff", file: path, ...made, reason: file.reason ?? "" };
    // Every other field is made here.
    if (!agentsmithy.checks.DiffMessage!(message))
      return { ok: false, reason: `An edit block names "${path}"; a path is relative to the workspace, without "..".` };
    messages.push(message);
  }
  return { ok: true, messages };
}

type Placed = Pick<DiffMessage, "diff" | "line_start" | "line_end">;

/** The diff of one file and the lines it is about, or why it has none. */
function placed(file: FilePatch, text: string | undefined): Placed | string {
  const path = file.after ?? file.before ?? "";
  if (text === undefined) {
    const spans = file.hunks.flatMap(({ oldStart, lines }) => (oldStart === null ? [] : [spanOf(oldStart, lines)]));
    if (file.hunks.length === 0) return `An edit block deletes ${path}; its lines are known only with the file's text.`;
    if (spans.length < file.hunks.length) return `An edit block of ${path} has no line numbers.`;
    return { diff: formatPatch({ files: [file] }), ...around(spans) };
  }
  const applied = applyPatch(file, text);
  if (!applied.ok) return explainConflict(applied.conflicts[0]!, file, text);
  const linesOf = new Map(file.hunks.map(({ id, lines }) => [id, lines]));
  const spans = applied.hunks.map(({ id, at }) => spanOf(at, linesOf.get(id) ?? []));
  const { before: oldPath, after: newPath } = file;
  const patch = createPatch(text, applied.text, { oldPath, newPath });
  // A block that deletes a file names no lines: the diff does.
  const removed = patch.files.flatMap(({ hunks }) => hunks.map(({ oldStart, lines }) => spanOf(oldStart!, lines)));
  return { diff: formatPatch(patch), ...around(spans.length > 0 ? spans : removed) };
}

/** The lines from the first span to the last; the first line for a change of a file without lines. */
function around(spans: readonly Span[]): Pick<DiffMessage, "line_start" | "line_end"> {
  if (spans.length === 0) return { line_start: 1, line_end: 1 };
  const line_start = Math.max(1, Math.min(...spans.map(({ first }) => first)));
  return { line_start, line_end: Math.max(line_start, ...spans.map(({ last }) => last)) };
}

interface Span {
  readonly first: number;
  readonly last: number;
}

function spanOf(first: number, lines: Hunk["lines"]): Span {
  return { first, last: first + lines.filter((line) => line[0] !== "+").length - 1 };
}

export type DiffReading =
  | {
      readonly ok: true;
      /** The change of `message.file`, and of no other file. */
      readonly patch: Patch;
      /** The lines from which the diff's hunks are numbered; absent where they are numbered from the file's first. */
      readonly at?: LineRange | undefined;
    }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads a `diff` message. A diff of another file than `file`, or of several, is refused. It reads no disk: whether `file` leaves the
 * workspace is checked by `planEdits(patch, { root, at: { [file]: at } })` of `@parlance/edits/node`, which refuses it with a reason.
 */
export function readDiffMessage({ file, diff, line_start, line_end }: DiffMessage): DiffReading {
  const reading = parsePatch(diff, { path: file });
  if (!reading.ok) return { ok: false, reason: reading.errors.map(({ message }) => message).join(" ") };
  const [only, another] = reading.patch.files;
  if (!only || another)
    return { ok: false, reason: `The diff for ${file} changes ${reading.patch.files.length} files.` };
  const other = [only.before, only.after].find((path) => path !== null && path !== file);
  if (other !== undefined) return { ok: false, reason: `The diff is for ${other}, and its message for ${file}.` };
  return { ok: true, patch: reading.patch, ...(isRelative(only, line_start) && { at: { line_start, line_end } }) };
}

/** Whether hunks are numbered from `line_start`, as some servers do: none of them reaches that line of the file. */
function isRelative({ hunks }: FilePatch, lineStart: number): boolean {
  const numbered = hunks.filter(({ oldStart }) => oldStart !== null);
  return numbered.length > 0 && numbered.every(({ oldStart, lines }) => spanOf(oldStart!, lines).last < lineStart - 1);
}
