import { countLines, lastLines } from "../hunk.js";
import { needPatch } from "../need.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";
import { quoteName } from "./names.js";

/**
 * Writes a patch as a unified diff, byte for byte as `git diff` writes it, with git's extended header where a plain one
 * does not suffice. Law: `parsePatch(formatPatch(p)).patch` equals `p` for everything that a unified diff can express. It
 * has no field for `reason`, keeps only the last of several anchors (as section), and writes a replacement of a whole file
 * as a creation, since its old text is not known. Hunks without a place become `@@ ... @@`, for lenient readers only.
 */
export function formatPatch(patch: Patch): string {
  needPatch({ patch });
  const out: string[] = [];
  let open = false;
  for (const file of patch.files) {
    const header = file.git !== undefined || impliesGitHeader(file);
    if (header) formatGitHeader(file, out);
    // The next file's names would be taken for those of a header that has no hunks.
    else if (open) out.push("");
    open = file.hunks.length === 0;
    if (open) continue;
    const created = file.before === null || file.whole === true;
    out.push(`--- ${formatName("a/", created ? null : file.before, file.oldStamp)}`);
    out.push(`+++ ${formatName("b/", file.after, file.newStamp)}`);
    for (const hunk of file.hunks) formatHunk(hunk, out);
  }
  return out.length === 0 ? "" : `${out.join("\n")}\n`;
}

/** Whether the change needs more than `---`, `+++` and hunks. */
export function impliesGitHeader({ kind, oldMode, newMode, hunks }: FilePatch): boolean {
  return kind === "rename" || kind === "copy" || (oldMode ?? newMode) !== undefined || hunks.length === 0;
}

function formatGitHeader(file: FilePatch, out: string[]): void {
  const { kind, oldMode, newMode, git, hunks } = file;
  const before = file.before ?? file.after ?? "";
  const after = file.after ?? before;
  const index = git?.index === undefined ? "" : `index ${git.index}`;
  out.push(`diff --git ${quoteName(`a/${before}`)} ${quoteName(`b/${after}`)}`);
  const indexMode = git?.mode === undefined ? "" : ` ${git.mode}`;
  // Above hunks /dev/null tells the kind, so a mode that is not known is not made up.
  const mode = hunks.length > 0 ? undefined : "100644";
  if (kind === "create" || kind === "delete") {
    const own = (kind === "create" ? newMode : oldMode) ?? mode;
    if (own !== undefined) out.push(`${kind === "create" ? "new" : "deleted"} file mode ${own}`);
  } else {
    if (oldMode !== undefined) out.push(`old mode ${oldMode}`);
    if (newMode !== undefined) out.push(`new mode ${newMode}`);
  }
  if (git?.similarity !== undefined) out.push(`similarity index ${git.similarity}%`);
  if (git?.dissimilarity !== undefined) out.push(`dissimilarity index ${git.dissimilarity}%`);
  if (kind === "rename" || kind === "copy")
    out.push(`${kind} from ${quoteName(before)}`, `${kind} to ${quoteName(after)}`);
  if (index !== "") out.push(index + indexMode);
}

function formatName(prefix: string, path: string | null, stamp: string | undefined): string {
  const name = path === null ? "/dev/null" : quoteName(prefix + path);
  if (stamp !== undefined) return `${name}\t${stamp}`;
  // A tab ends a name with blanks, so that GNU patch does not take what follows the blank for a time stamp.
  return name.includes(" ") ? `${name}\t` : name;
}

function formatHunk(hunk: Hunk, out: string[]): void {
  const { oldStart, newStart, lines, anchors } = hunk;
  const section = hunk.section ?? anchors?.at(-1);
  const count = countLines(lines);
  const place =
    oldStart === null || newStart === null
      ? "..."
      : `-${formatRange(oldStart, count.old)} +${formatRange(newStart, count.new)}`;
  out.push(section === undefined ? `@@ ${place} @@` : `@@ ${place} @@ ${section}`);
  if (!hunk.oldNoNewline && !hunk.newNoNewline) {
    for (const line of lines) out.push(line);
    return;
  }
  const last = lastLines(lines);
  lines.forEach((line, i) => {
    out.push(line);
    if ((hunk.oldNoNewline && i === last.old) || (hunk.newNoNewline && i === last.new))
      out.push("\\ No newline at end of file");
  });
}

function formatRange(start: number, count: number): string {
  return count === 1 ? `${start}` : `${start},${count}`;
}
