import type { FilePatch } from "../patch.js";
import type { ReadError, Reading, Repair } from "../reading.js";
import { gather } from "./change.js";
import type { EditEvent, EditReader, Format, ReadOptions } from "./format.js";
import { unreadable } from "./message.js";
import { Scanner } from "./scanner.js";

/** Creates a reader of the formats given. */
export function scanEdits(formats: readonly Format[], options: ReadOptions = {}): EditReader {
  let events: EditEvent[] = [];
  const scanner = new Scanner(formats, options, true, (event) => events.push(event));
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
  const scanner = new Scanner(formats, options, false, (event) => {
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
