import type { FormatName } from "../formats/block.js";
import type { Patch } from "../patch.js";
import type { ReadError, Repair } from "../reading.js";

/**
 * What a model's output says, in the order in which it says it. `edit` counts the blocks from 0; a block's events are
 * `start`, then `path` and `progress` in any number, then one `edit`, `doubtful` or `error`. Line numbers in repairs and errors
 * are those of the whole output. After an `error` no `edit` comes any more.
 */
export type EditEvent =
  /** Text that belongs to no block, in pieces; only their concatenation says something. */
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "start"; readonly edit: number; readonly format: FormatName }
  /** The file which the block is about, as soon as it is known; again where a block goes on to another file. */
  | { readonly type: "path"; readonly edit: number; readonly path: string }
  /** One line of the block as it was written, marker lines included, with its line end. */
  | { readonly type: "progress"; readonly edit: number; readonly text: string }
  | { readonly type: "edit"; readonly edit: number; readonly patch: Patch; readonly repairs: readonly Repair[] }
  /** A block behind one that failed: it may be content of that one, so it is no edit. Ask for the answer again, or ask the user. */
  | { readonly type: "doubtful"; readonly edit: number; readonly patch: Patch; readonly repairs: readonly Repair[] }
  /** The block cannot be read; `source` is what was read of it. */
  | { readonly type: "error"; readonly edit: number; readonly error: ReadError; readonly source: string };

export interface ReadOptions {
  /** The file that a block is about when it names none: usually the one that is open in the editor. */
  readonly path?: string;
  /** UTF-16 code units that one block may have; a longer one is an error and is not kept. Default: 4 Mi. */
  readonly limit?: number;
}

export interface EditReader {
  /** The next piece of the output, cut anywhere. */
  push(text: string): EditEvent[];
  /**
   * The output has ended, and so has the reader. `complete` says that it is known to be whole (a file, or a model that stopped of its own
   * accord): then a bare unified diff, which has no end marker, may end although its counts promise more lines, or in a line without a line feed.
   */
  end(options?: { complete?: boolean }): EditEvent[];
}
