import { beginPatch } from "../formats/begin-patch.js";
import type { Format } from "../formats/block.js";
import { callFences } from "../formats/call-fence.js";
import { editBlocks } from "../formats/edit-block.js";
import { gather, refuseDotsIn } from "../formats/file-patch.js";
import { attempt, Unreadable } from "../formats/message.js";
import { searchReplace } from "../formats/search-replace.js";
import { unifiedDiffs } from "../formats/unified.js";
import { wholeFiles } from "../formats/whole-file.js";
import { parsePatch } from "../parse.js";
import type { FilePatch } from "../patch.js";
import type { Reading } from "../reading.js";
import type { EditReader, ReadOptions } from "./event.js";
import { readAll } from "./parse.js";
import { scanEdits } from "./scan.js";

export interface EditOptions extends ReadOptions {
  /** Take a path with a fenced block below it for the file's whole new text. Default false: it may be an example. */
  readonly wholeFiles?: boolean | undefined;
}

const FORMATS: readonly Format[] = [editBlocks, searchReplace, beginPatch, unifiedDiffs, callFences];

/**
 * Creates a reader for a model's output while it streams: push the pieces as they arrive, and it emits text and edits
 * of every supported format. Law: the events, adjacent text joined, depend only on the whole output and not on how it was
 * cut. The text has no marker line of a block. Time is linear; memory is that of one block, at most `limit`.
 */
export function readEdits(options: EditOptions = {}): EditReader {
  return scanEdits(formatsOf(options), options);
}

/**
 * Reads a whole text that may hold edits of any format, into one patch. All or nothing: an unreadable block refuses the
 * text. Several blocks for one file are all about the original file: one that needs the result of an earlier block is a
 * conflict when the patch is applied (if the model was asked for successive edits, apply the patches of `readEdits` in
 * turn instead). A text that can only be unfenced unified diffs is left to `parsePatch`, which sees the whole of it.
 */
export function parseEdits(text: string, options: EditOptions = {}): Reading {
  const { files, repairs, errors, found, doubtful } = readAll(formatsOf(options), text, options);
  const plain = found.size === 0 || (found.size === 1 && found.has("unified"));
  const bare = !FENCE.test(text);
  const open = errors.every(
    ({ reason }) =>
      reason === "bad-hunk" || (bare && reason === (doubtful || files.length > 0 ? "stray-line" : "bad-block")),
  );
  if (plain && open && (bare || files.length === 0)) {
    const whole = refuseLost(parsePatch(text, options), text);
    // The reader alone sees a path above a hunk behind prose, and that prose is no context.
    const alone = whole.ok && errors.length === 0 && meaningOf(whole.patch.files) !== meaningOf(files);
    const vague = !whole.ok && whole.errors[0]!.reason === "no-hunk" && errors.length > 0;
    if (!vague && (!alone || files.length === 0)) return whole;
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: gather(files), repairs };
}

/** A diff in which dots stand for lines that would be lost is an error, as in any other format. */
function refuseLost(reading: Reading, text: string): Reading {
  if (!reading.ok) return reading;
  const { files } = reading.patch;
  const read = attempt(() => {
    refuseDotsIn(files, text.split("\n"));
    return files;
  });
  if (!(read instanceof Unreadable)) return reading;
  const { line, reason, message } = read;
  return { ok: false, errors: [{ line: line + 1, reason, message }] };
}

/** A fence, or a closing tag that stands for one: a diff ends before it. */
const FENCE = /^[ \t]*(?:`{3}|~{3}|<\/)/m;

function meaningOf(files: readonly FilePatch[]): string {
  return JSON.stringify(files.flatMap(({ after, before, hunks }) => hunks.map(({ lines }) => [before, after, lines])));
}

function formatsOf(options: EditOptions): readonly Format[] {
  return options.wholeFiles ? [...FORMATS, wholeFiles] : FORMATS;
}
