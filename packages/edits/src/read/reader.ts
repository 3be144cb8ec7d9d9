import type { Patch } from "../patch.js";
import type { ReadError, Repair } from "../reading.js";
import type { FormatName } from "./format.js";

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
  /** One line of the block as it was written, marker lines included, with its line end. */
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
