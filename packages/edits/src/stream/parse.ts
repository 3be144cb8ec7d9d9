import type { Form } from "../forms/block.js";
import { gather } from "../forms/change.js";
import type { FilePatch } from "../patch.js";
import type { ReadError, Reading, Repair } from "../reading.js";
import type { ReadOptions } from "./event.js";
import { scanEdits } from "./scan.js";

/** Reads a whole text by the forms given, into one patch. All or nothing: a block that cannot be read refuses the text. */
export function parseWith(forms: readonly Form[], text: string, options: ReadOptions): Reading {
  const reader = scanEdits(forms, options);
  const files: FilePatch[] = [];
  const repairs: Repair[] = [];
  const errors: ReadError[] = [];
  for (const event of [...reader.push(text), ...reader.end({ complete: true })]) {
    if (event.type === "edit") {
      for (const file of event.patch.files) files.push(file);
      for (const repair of event.repairs) repairs.push(repair);
    } else if (event.type === "error") errors.push(event.error);
  }
  if (errors.length === 0 && files.length === 0) {
    const names = forms.map((form) => form.name).join(", ");
    errors.push({ line: 1, reason: "no-hunk", message: `There is no edit in the input (read as ${names}).` });
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: gather(files), repairs };
}
