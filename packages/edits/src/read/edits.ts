import { needOptions, needText } from "../need.js";
import type { Reading } from "../reading.js";
import { unifiedDiffs } from "../unified/block.js";
import { parsePlain } from "../unified/parse.js";
import { beginPatch } from "./begin-patch.js";
import { editBlocks } from "./edit-block.js";
import type { EditReader, Format, ReadOptions } from "./format.js";
import { parseWith, scanEdits } from "./reader.js";
import { searchReplace } from "./search-replace.js";
import { callFences } from "./str-replace.js";
import { wholeFiles } from "./whole-file.js";

export interface EditOptions extends ReadOptions {
  /** Take a path with a fenced block below it for the file's whole new text. Default false: it may be an example. */
  readonly wholeFiles?: boolean | undefined;
}

const FORMATS: readonly Format[] = [editBlocks, searchReplace, beginPatch, /* @__PURE__ */ unifiedDiffs(), callFences];

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
 * turn instead).
 */
export function parseEdits(text: string, options: EditOptions = {}): Reading {
  needText({ text });
  needOptions(options, { path: "string", limit: "number", wholeFiles: "boolean" });
  const plain = parsePlain(text);
  return plain.ok ? plain : parseWith(formatsOf(options), text, options);
}

function formatsOf(options: EditOptions): readonly Format[] {
  return options.wholeFiles ? [...FORMATS, wholeFiles] : FORMATS;
}
