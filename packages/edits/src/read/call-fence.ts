import { closesFence } from "./fence.js";
import type { Format } from "./format.js";
import { lost } from "./message.js";
import { areEdits, type Call, parseJson, readCall, readCalls } from "./str-replace.js";

const INFO = /^(?:|jsonc?|str_replace|tool_(?:call|use))$/;
/** A field of a call, where its value begins. */
const FIELD = /["'](?:old_?(?:str(?:ing)?|text)|file_text|insert_line)["']\s*:\s*["'\d]|"command"\s*:\s*"str_replace"/i;
const TAG = /^<(?:parameter name=")?(?:str_replace|old_?(?:str|text))/i;

/** Strings of JSON hold no line feeds, so calls take few lines; a longer value is not read to its end. */
const MOST_LINES = 64;

/** A fenced JSON value that turns out to be such a call. Any other JSON value is text. */
export const callFences: Format = {
  name: "str-replace",
  findLost(line, fence, written) {
    const isField = /^[[{"']/.test(line) && (fence === null || INFO.test(fence.info)) && FIELD.test(line);
    const advice = "send one JSON value with path, old_str and new_str, alone in a fence";
    return isField || TAG.test(line) ? lost(written, advice) : null;
  },
  open({ line, path, fence, atFenceStart, defaultPath }) {
    if (!atFenceStart || !fence?.length || !/^\s*[[{]/.test(line)) return null;
    if (!INFO.test(fence.info)) return null;
    const options = { path: path ?? defaultPath ?? undefined };
    let taken: string[] = [];
    let calls: Call[] = [];
    return {
      path: null,
      ownsFence: true,
      tentative: true,
      take(text) {
        if (!closesFence(text, fence)) return taken.push(text) > MOST_LINES ? "text" : "more";
        calls = readCalls(parseJson(taken.join("\n")));
        taken = [];
        this.path = calls[0]?.path ?? options.path ?? null;
        return areEdits(calls) ? "last" : "text";
      },
      read: ({ repairs }) => calls.flatMap((call) => readCall(call, options, repairs)),
    };
  },
};
