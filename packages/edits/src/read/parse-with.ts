import type { FilePatch } from "../patch.js";
import type { ReadError, Reading, Repair } from "../reading.js";
import { gather } from "./change.js";
import type { Format } from "./format.js";
import { unreadable } from "./message.js";
import type { ReadOptions } from "./reader.js";
import { startScan } from "./scanner.js";

/** Reads a whole text by the formats given, into one patch. All or nothing: a block that cannot be read refuses the text. */
export function parseWith(formats: readonly Format[], text: string, options: ReadOptions): Reading {
  const files: FilePatch[] = [];
  const repairs: Repair[] = [];
  const errors: ReadError[] = [];
  const scanner = startScan(formats, options, (event) => {
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
