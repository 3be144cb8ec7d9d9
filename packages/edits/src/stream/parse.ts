import type { Form, FormName } from "../forms/block.js";
import { gather } from "../forms/change.js";
import { unreadable } from "../forms/message.js";
import type { FilePatch } from "../patch.js";
import type { ReadError, Reading, Repair } from "../reading.js";
import type { ReadOptions } from "./event.js";
import { scanEdits } from "./scan.js";

/** Reads a whole text by the forms given, into one patch. All or nothing: a block that cannot be read refuses the text. */
export function parseWith(forms: readonly Form[], text: string, options: ReadOptions): Reading {
  const { files, repairs, errors } = readAll(forms, text, options);
  if (errors.length === 0 && files.length === 0) {
    const { reason, message } = unreadable(0, "no-hunk", `read as ${forms.map((form) => form.name).join(", ")}`);
    errors.push({ line: 1, reason, message });
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, patch: gather(files), repairs };
}

/** What the blocks of a text say, and of which forms they are. */
export function readAll(forms: readonly Form[], text: string, options: ReadOptions) {
  const reader = scanEdits(forms, options);
  const files: FilePatch[] = [];
  const repairs: Repair[] = [];
  const errors: ReadError[] = [];
  const found = new Set<FormName>();
  for (const events of [reader.push(text), reader.end({ complete: true })]) {
    for (const event of events) {
      if (event.type === "start") found.add(event.form);
      else if (event.type === "error") errors.push(event.error);
      else if (event.type === "edit") {
        for (const file of event.patch.files) files.push(file);
        for (const repair of event.repairs) repairs.push(repair);
      }
    }
  }
  return { files, repairs, errors, found };
}
