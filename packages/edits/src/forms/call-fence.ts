import type { Reading } from "../reading.js";
import { type Block, type Form, refuse } from "./block.js";
import { closesFence, type Fence } from "./fence.js";
import { looksLikeCalls, parseJson, parseStrReplace } from "./str-replace.js";

/** A fenced JSON value that turns out to be such a call. Any other JSON value is text. */
export const callFences: Form = {
  name: "str-replace",
  open({ line, path, fence, atFenceStart, defaultPath }) {
    if (
      !atFenceStart ||
      fence === null ||
      !/^\s*[[{]/.test(line) ||
      !/^(?:|jsonc?|str_replace|tool_(?:call|use))$/.test(fence.info)
    )
      return null;
    return openCalls(fence, path ?? defaultPath);
  },
};

/** Strings of JSON hold no line feeds, so calls are few lines; a longer value is not waited for. */
const MOST_LINES = 64;

function openCalls(fence: Fence, fallback: string | null): Block {
  let taken: string[] = [];
  let reading: Reading | null = null;
  return {
    get path() {
      return reading?.ok ? (reading.patch.files[0]!.after ?? reading.patch.files[0]!.before) : null;
    },
    ownsFence: true,
    tentative: true,
    take(line) {
      if (!closesFence(line, fence)) {
        taken.push(line);
        return taken.length > MOST_LINES ? "text" : "more";
      }
      const value = parseJson(taken.join("\n"));
      taken = [];
      if (!looksLikeCalls(value)) return "text";
      reading = parseStrReplace(value, fallback === null ? {} : { path: fallback });
      return "last";
    },
    read(lines) {
      if (reading === null) return refuse(lines.length - 1, "unfinished", "The fence around the call is not closed.");
      if (reading.ok) return { ok: true, files: reading.patch.files, repairs: [] };
      const { reason, message } = reading.errors[0]!;
      return refuse(lines.length - 1, reason, message);
    },
  };
}
