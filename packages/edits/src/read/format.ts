import type { FilePatch, Patch } from "../patch.js";
import type { ReadError, Repair } from "../reading.js";
import type { Fence } from "./fence.js";
import type { Unreadable } from "./message.js";

export type FormatName = "edit-block" | "search-replace" | "begin-patch" | "unified" | "str-replace" | "whole-file";

/** A format of edits. It finds the lines that belong to one block and reads them. */
export interface Format {
  readonly name: FormatName;
  open(head: Head): EditBlock | null;
  /** Why a line of text shows an edit that was not read; a message counts only where the text has no edit at all. */
  findLost?(line: string, fence: Fence | null, written: string): Unreadable | string | null;
}

/** The lines that lead up to a block: a path, a fence, a marker. */
export interface Head {
  readonly line: string;
  /** The line before it, where it may belong to the block; else empty. */
  readonly before: string;
  readonly path: string | null;
  /** Path between the fence and the current line. */
  readonly innerPath: string | null;
  readonly fence: Fence | null;
  /** Only lines of the head stand between the fence and the current line. */
  readonly isFenceStart: boolean;
  /** No later line can turn the head into that of another format. */
  readonly isSettled: boolean;
  /** The path of the block before this one, or the one that the text between them leads up to; null where that leaves a doubt. */
  readonly previousPath: string | null;
  readonly previousFormat: FormatName | null;
  readonly defaultPath: string | null;
}

/** One block while it is read. The reader keeps the lines, so that a block beyond its limit costs no memory. */
export interface EditBlock {
  /** The file the block is about, as soon as it is known; the latest one where it is about several. */
  path: string | null;
  /** The block's last line closes the fence of its head. */
  readonly ownsFence?: true | undefined;
  /** The lines may yet turn out to be no edit at all, up to the block's last one. */
  readonly isTentative?: true | undefined;
  /** `isOpening`: the line is the one that opened the block. */
  take(line: string, isOpening: boolean): Taken;
  /** The new text in a line, for progress; null for none. Called for each line in order; the opening one is row 0. */
  show(line: string, row: number): string | null;
  /** How many of the lines held by `maybe` are the block's, once `take` has said `past` or the text has ended. */
  readonly kept?: number | undefined;
  /** The text ends behind the lines that are held. */
  settle?(): void;
  /** Why the next line behind the block may be one of it that was lost. An item of a list is one only if the next block continues this one. */
  behind?(line: string): { readonly error: Unreadable; readonly isItem: boolean } | null;
  readonly isContinued?: boolean | undefined;
  /** Lines in repairs and errors are counted from 0 at the block's first. */
  read(block: BlockText): readonly FilePatch[];
}

export interface BlockText {
  /** Its lines, those of the head included. */
  readonly lines: readonly string[];
  readonly start: number;
  readonly end: BlockEnd;
  /** The last line has no line feed. */
  readonly isTorn: boolean;
  readonly repairs: Repair[];
}

/** Where a block stopped: at its own end, at the end of a text known to be whole, or at the end of a text that is cut off. */
export type BlockEnd = "closed" | "complete" | "cut";

/**
 * A block's verdict on a line. `more`: part of the block, as are the lines held before it. `last`: the block's last line.
 * `maybe`: a later line decides. `past`: the block ended before it, behind the first `kept` lines that were held.
 * `text`: the block is no edit at all.
 */
export type Taken = "more" | "last" | "past" | "maybe" | "text";

/**
 * An event of a model's output, in order. `edit` counts the blocks from 0. A block's events are `start`, then `path` and
 * `progress` in any number, then one `edit`, `doubtful` or `error`. Line numbers in repairs and errors
 * are those of the whole output. No `edit` follows an `error`.
 */
export type EditEvent =
  /** Text outside of blocks, in arbitrary pieces: concatenate them. */
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "start"; readonly edit: number; readonly format: FormatName }
  /** The block's file, as soon as it is known; again if a block continues with another file. */
  | { readonly type: "path"; readonly edit: number; readonly path: string }
  /** New text of the block as it arrives, without marks, context included: for a display, not to be applied. */
  | { readonly type: "progress"; readonly edit: number; readonly text: string }
  | { readonly type: "edit"; readonly edit: number; readonly patch: Patch; readonly repairs: readonly Repair[] }
  /** A block after a failed one: it may be content of that one, so it is no edit. Ask the model again, or ask the user. */
  | { readonly type: "doubtful"; readonly edit: number; readonly patch: Patch; readonly repairs: readonly Repair[] }
  /** The block cannot be read; `source` is the part read so far. */
  | { readonly type: "error"; readonly edit: number; readonly error: ReadError; readonly source: string };

export interface ReadOptions {
  /** The file of a block that names none: usually the one open in the editor. */
  readonly path?: string | undefined;
  /** The largest block in UTF-16 code units; a longer one is an error and is not kept. Default: 4 Mi. */
  readonly limit?: number | undefined;
}

export interface EditReader {
  /** Reads the next piece of the output, cut anywhere. */
  push(text: string): EditEvent[];
  /**
   * Ends the output and the reader. `complete` means that the output is known to be whole (a file, or a model that stopped
   * normally). A bare unified diff has no end marker; if complete, it may end in a line without a line feed, or before its
   * counts are used up.
   */
  end(options?: { complete?: boolean }): EditEvent[];
}
