import type { FilePatch, Patch } from "../patch.js";
import type { ReadError, Reading, Repair } from "../reading.js";
import { gather } from "./change.js";
import type { Format, FormatName } from "./format.js";
import { unreadable } from "./message.js";
import { Scanner } from "./scanner.js";

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

/** Creates a reader of the formats given. */
export function scanEdits(formats: readonly Format[], options: ReadOptions = {}): EditReader {
  let events: EditEvent[] = [];
  const scanner = new Scanner(formats, options, (event) => events.push(event));
  const drain = () => {
    const drained = events;
    events = [];
    return drained;
  };
  return {
    push(text) {
      scanner.push(text);
      return drain();
    },
    end(how) {
      scanner.end(how);
      return drain();
    },
  };
}

/** Reads a whole text by the formats given, into one patch. All or nothing: a block that cannot be read refuses the text. */
export function parseWith(formats: readonly Format[], text: string, options: ReadOptions): Reading {
  const files: FilePatch[] = [];
  const repairs: Repair[] = [];
  const errors: ReadError[] = [];
  const scanner = new Scanner(formats, options, (event) => {
    if (event.type === "error") errors.push(event.error);
    else if (event.type === "edit") {
      for (const file of event.patch.files) files.push(file);
      for (const repair of event.repairs) repairs.push(repair);
    }
  });
  scanner.push(text);
  scanner.end({ complete: true });
  if (errors.length === 0 && files.length === 0 && !repairs.some(({ kind }) => kind === "no-change")) {
    const { reason, message } = unreadable(0, "no-hunk");
    errors.push({ line: 1, reason, message });
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: gather(files), repairs };
}
