import { applyPatch } from "../apply.js";
import { createPatch } from "../diff/create.js";
import { countLines, identifyHunks } from "../hunk.js";
import { needPatch, needText } from "../need.js";
import { type FilePatch, filesOf, type Hunk, type Patch } from "../patch.js";
import type { ApplyOptions, Conflict } from "../result.js";
import { formatPatch } from "../unified/parse.js";

export type BasedWriting =
  | { readonly ok: true; readonly diff: string }
  | {
      readonly ok: false;
      /**
       * `conflict`: the patch does not apply to the text. `kind`: it does more than change lines of one file.
       * `text`: the server would split the text into other lines. `line`: the server would take a changed line for a header.
       */
      readonly reason: "conflict" | "kind" | "text" | "line";
      readonly message: string;
      /** Set for `conflict`. */
      readonly conflicts?: readonly Conflict[];
    };

/** Control characters and separators that the server may take for the end of a line, and half a pair, which it cannot store. */
const SPLITS = /[^\P{Cc}\t\n]|[\u2028\u2029]|\p{Surrogate}/u;

/** What the server may take for a header, wherever it stands. White space in front may have been stripped. */
const HEADER = /^\s*(?:---|\+\+\+|@@|diff --git |index )/;

/** Unchanged lines around a change. The server goes by line numbers, so they are for the reader. */
const CONTEXT = 3;

/**
 * Writes the diff that makes a real Based server do what `applyPatch` does; it is empty if nothing changes.
 * That server goes by line numbers, checks no context and takes some lines for headers, so the diff is rebuilt from the text:
 * exact numbers, plain headers, blank context lines as one space, no context line that looks like a header. Changes that
 * such a diff cannot express are refused: send the whole file then.
 */
export function formatForBased(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): BasedWriting {
  needPatch({ patch });
  needText({ text });
  const files = filesOf(patch);
  const [file] = files;
  if (!file) return { ok: true, diff: "" };
  const { kind, before: path, oldMode, newMode } = file;
  if (files.length > 1 || path === null || kind !== "modify" || oldMode !== newMode)
    return refuse("kind", "A diff for Based changes lines of one file that is there, and nothing else");
  const applied = applyPatch(file, text, options);
  if (!applied.ok) {
    const message = "The patch does not apply to the text. Ask for it again with the file's current text.";
    return { ok: false, reason: "conflict", message, conflicts: applied.conflicts };
  }
  if (SPLITS.test(text) || SPLITS.test(applied.text))
    return refuse("text", "A Based server splits the file at characters that are no line feed");
  const hunks = createPatch(text, applied.text, { path, context: CONTEXT }).files.flatMap((made) => made.hunks);
  const parts = identifyHunks(hunks.flatMap(splitHunk));
  for (const { lines } of parts) {
    const wrong = lines.find((line) => HEADER.test(line) || HEADER.test(line.slice(1)));
    if (wrong !== undefined)
      return refuse("line", `A Based server takes the line ${JSON.stringify(wrong.slice(0, 60))} for a header`);
    if (countLines(lines).old === 0)
      return refuse("line", "New lines have no line beside them that the server cannot misread");
  }
  if (parts.length === 0) return { ok: true, diff: "" };
  return { ok: true, diff: formatPatch({ files: [{ kind, before: path, after: path, hunks: parts }] }) };
}

function refuse(reason: "kind" | "text" | "line", what: string): BasedWriting {
  return { ok: false, reason, message: `${what}: send the whole file.` };
}

function splitHunk(hunk: Hunk): Omit<Hunk, "id">[] {
  const parts: Hunk[] = [];
  let lines: string[] | null = null;
  let oldStart = hunk.oldStart!;
  // An empty side is named by the line before it.
  let newStart = hunk.newStart! + (countLines(hunk.lines).new === 0 ? 1 : 0);
  for (const line of hunk.lines) {
    if (line[0] === " " && HEADER.test(line)) lines = null;
    else if (lines) lines.push(line);
    else {
      lines = [line];
      parts.push({ id: "", oldStart, newStart, lines });
    }
    if (line[0] !== "+") oldStart++;
    if (line[0] !== "-") newStart++;
  }
  return parts.flatMap((part, i) => {
    const count = countLines(part.lines);
    if (part.lines.every((line) => line[0] === " ")) return [];
    // The last line of a side without a line feed is in the last part, or a header's that is left out.
    const { oldNoNewline, newNoNewline } = i === parts.length - 1 && lines ? hunk : part;
    return [{ ...part, newStart: part.newStart! - (count.new === 0 ? 1 : 0), oldNoNewline, newNoNewline }];
  });
}
