import { hashText, ordinals } from "../hunk.js";
import { needOptions, needText } from "../need.js";
import type { Hunk, Patch } from "../patch.js";
import { type DiffOptions, diffLines, type LineChange } from "./diff.js";
import { endsInNewline, lineAt, readSource, type Source } from "./source.js";

export interface CreateOptions extends DiffOptions {
  /** Path of the file, before and after. Default "file". */
  path?: string | undefined;
  /**
   * If the paths differ, the file is renamed. Null before means created, null after means deleted; the text on that side
   * then counts as empty.
   */
  oldPath?: string | null | undefined;
  newPath?: string | null | undefined;
  /** Number of unchanged lines around a change. Default 3. */
  context?: number | undefined;
}

/**
 * Makes the patch that turns `before` into `after`. Law: `applyPatch(createPatch(a, b), a)` gives `b`. Equal texts under
 * one path give a patch without files; a created, deleted or renamed file is in the patch even if it has no hunks.
 */
export function createPatch(before: string, after: string, options: CreateOptions = {}): Patch {
  needText({ before, after });
  needOptions(options, {
    path: "string",
    oldPath: "string or null",
    newPath: "string or null",
    context: "number",
    cost: "number",
  });
  const { path = "file", oldPath = path, newPath = path } = options;
  const old = readSource(oldPath === null ? "" : before);
  const now = readSource(newPath === null ? "" : after);
  const kind = oldPath === null ? "create" : newPath === null ? "delete" : oldPath === newPath ? "modify" : "rename";
  const isSame = before === after && (kind === "modify" || kind === "rename");
  const hunks = isSame ? [] : createHunks(old, now, options);
  if (hunks.length === 0 && kind === "modify") return { files: [] };
  // Only git's header can express that an empty file is created or deleted, and it needs a mode.
  const modes = { create: { newMode: "100644" }, delete: { oldMode: "100644" }, modify: {}, rename: {} };
  return { files: [{ kind, before: oldPath, after: newPath, hunks, ...(hunks.length === 0 && modes[kind]) }] };
}

function createHunks(before: Source, after: Source, options: CreateOptions): Hunk[] {
  const context = Math.max(0, options.context ?? 3);
  const changes = diffLines(before, after, options);
  const tellApart = ordinals();
  const hunks: Hunk[] = [];
  for (let i = 0; i < changes.length; ) {
    let end = i + 1;
    while (end < changes.length && changes[end]!.oldStart - changes[end - 1]!.oldEnd <= 2 * context) end++;
    hunks.push(createHunk(before, after, changes.slice(i, end), context, tellApart));
    i = end;
  }
  return hunks;
}

function createHunk(
  before: Source,
  after: Source,
  changes: readonly LineChange[],
  context: number,
  tellApart: (name: string) => string,
): Hunk {
  const first = changes[0]!;
  const last = changes[changes.length - 1]!;
  const oldStart = Math.max(0, first.oldStart - context);
  const newStart = first.newStart - (first.oldStart - oldStart);
  const oldEnd = Math.min(before.length, last.oldEnd + context);
  const newEnd = last.newEnd + (oldEnd - last.oldEnd);
  // Built as one text and split again: cheaper than joining the lines for the id, and they retain less memory.
  let body = "";
  let at = oldStart;
  for (const change of changes) {
    while (at < change.oldStart) body += `\n ${lineAt(before, at++)}`;
    while (at < change.oldEnd) body += `\n-${lineAt(before, at++)}`;
    for (let i = change.newStart; i < change.newEnd; i++) body += `\n+${lineAt(after, i)}`;
  }
  while (at < oldEnd) body += `\n ${lineAt(before, at++)}`;
  body = body.slice(1);
  return {
    id: tellApart(hashText(body)),
    // An empty side is named by the line before it.
    oldStart: oldEnd > oldStart ? oldStart + 1 : oldStart,
    newStart: newEnd > newStart ? newStart + 1 : newStart,
    lines: body.split("\n"),
    ...(oldEnd === before.length && oldEnd > oldStart && !endsInNewline(before) && { oldNoNewline: true as const }),
    ...(newEnd === after.length && newEnd > newStart && !endsInNewline(after) && { newNoNewline: true as const }),
  };
}
