import { needOptions, needText } from "../need.js";
import type { Reading } from "../reading.js";
import { unifiedDiffs } from "../unified/block.js";
import { beginPatch } from "./begin-patch.js";
import type { EditEvent, EditReader } from "./format.js";
import { JsonStrings } from "./json-strings.js";
import { unreadable } from "./message.js";
import { parseWith, scanEdits } from "./reader.js";
import { searchReplace } from "./search-replace.js";
import { parseJson, parseStrReplace } from "./str-replace.js";

export interface CallOptions {
  /** The file of a call that names none. */
  readonly path?: string | undefined;
  /** The file's text, as for `parseStrReplace`. */
  readonly text?: string | undefined;
  /** The most UTF-16 code units that are kept. Default: 4 Mi. */
  readonly limit?: number | undefined;
}

const PATH = /^(?:path|(?:target_)?file(?:_?path|name)?)$/i;
const NEW_TEXT = /^(?:new(?:_?(?:str|string|text))?|insert_text|file_text|contents?)$/i;
/** Fields whose string is a patch, or JSON again. */
const PATCH = /^(?:input|arguments|patch|diff)(?:_?text)?$/i;
const FORMATS = [beginPatch, searchReplace, /* @__PURE__ */ unifiedDiffs()];
const MAX_PATH = 4096;

/** The text of a patch in a call, and the path beside it. */
export interface CallDiff {
  readonly text: string;
  readonly path: string | undefined;
}

const INNER = /^(?:input|arguments|function|patch|diff|patch_?text)$/i;

/** Finds the text of a patch in the arguments of `apply_patch`, `apply_diff` and the like, a few envelopes deep. */
export function findDiff(value: unknown, path?: string, depth = 0): CallDiff | null {
  if (depth > 4) return null;
  if (typeof value === "string") {
    const parsed = parseJson(value);
    return parsed === null ? { text: value, path } : findDiff(parsed, path, depth + 1);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const { command } = value as { command?: unknown };
  if (Array.isArray(command) && command[0] === "apply_patch") return findDiff(command[1], path, depth + 1);
  const fields = Object.entries(value);
  const own = fields.find(([key, text]) => PATH.test(key) && typeof text === "string")?.[1];
  const inner = fields.find(([key, part]) => INNER.test(key) && part !== null && part !== undefined)?.[1];
  return inner === undefined ? null : findDiff(inner, own ?? path, depth + 1);
}

/** Reads a whole call: one that holds the text of a patch, or one that `parseStrReplace` takes. */
function parseCall(call: string, options: CallOptions): Reading {
  const diff = findDiff(parseJson(call));
  if (diff === null) return parseStrReplace(call, options);
  const path = diff.path ?? options.path;
  return parseWith(FORMATS, diff.text, path === undefined ? {} : { path });
}

/**
 * Creates a reader for the JSON arguments of an edit tool's call while they stream, cut anywhere. It emits the `path`, the new
 * text as clean `progress`, and at the end one `edit` or `error`: calls as `parseStrReplace` takes them, and those whose `input`,
 * `patch` or `diff` is the text of a patch. Law: the events, adjacent
 * progress joined, depend only on the whole. Linear; at most `limit` UTF-16 code units are kept.
 */
export function readCall(options: CallOptions = {}): EditReader {
  needOptions(options, { path: "string", text: "string", limit: "number" });
  const limit = options.limit ?? 4 << 20;
  let events: EditEvent[] = [];
  let pieces: string[] = [];
  let size = 0;
  let started = false;
  let isOver = false;
  let last = "\n";

  function emit(event: EditEvent): void {
    if (!started) events.push({ type: "start", edit: 0, format: "str-replace" });
    started = true;
    events.push(event);
  }
  function show(text: string): void {
    if (text === "") return;
    last = text;
    emit({ type: "progress", edit: 0, text });
  }
  /** What becomes of the pieces of a string that is the value of this key; null for a string that shows nothing. */
  function openString(key: string): ((piece: string, isEnd: boolean) => void) | null {
    if (PATH.test(key)) return takePath();
    if (PATCH.test(key)) return takePatch();
    if (!NEW_TEXT.test(key)) return null;
    // The new texts of several edits are lines below each other.
    if (!last.endsWith("\n")) show("\n");
    return show;
  }
  function takePath() {
    let path = "";
    return (piece: string, isEnd: boolean) => {
      if (path.length < MAX_PATH) path += piece;
      if (isEnd && path !== "") emit({ type: "path", edit: 0, path });
    };
  }
  /** A string that is JSON again, or the text of a patch: its first letter tells. */
  function takePatch() {
    let blank = "";
    let inner: JsonStrings | EditReader | null = null;
    return (piece: string, isEnd: boolean) => {
      blank = inner === null ? blank + piece : "";
      if (inner === null && blank.trim() !== "") {
        inner = /^\s*[[{]/.test(blank) ? new JsonStrings(openString) : scanEdits(FORMATS, { limit });
        piece = blank;
      }
      if (inner instanceof JsonStrings) inner.push(piece);
      else if (inner !== null)
        for (const event of [...inner.push(piece), ...(isEnd ? inner.end() : [])]) {
          if (event.type === "path") emit({ ...event, edit: 0 });
          else if (event.type === "progress") show(event.text);
        }
    };
  }
  function fail(error: ReturnType<typeof unreadable>, source: string): void {
    const { reason, message } = error;
    isOver = true;
    emit({ type: "error", edit: 0, error: { line: 1, reason, message }, source });
  }
  function drain(): EditEvent[] {
    const drained = events;
    events = [];
    return drained;
  }

  const strings = new JsonStrings(openString);
  return {
    push(text) {
      needText({ text });
      if (isOver) return [];
      size += text.length;
      if (size <= limit) {
        pieces.push(text);
        strings.push(text);
      } else {
        fail(unreadable(0, "too-long", `over ${limit} UTF-16 code units`), "");
        pieces = [];
      }
      return drain();
    },
    end() {
      if (isOver) return [];
      const source = pieces.join("");
      if (!strings.isComplete) fail(unreadable(0, "unfinished"), source);
      else {
        const reading = parseCall(source, options);
        if (reading.ok) emit({ type: "edit", edit: 0, patch: reading.patch, repairs: reading.repairs });
        else emit({ type: "error", edit: 0, error: reading.errors[0]!, source });
      }
      isOver = true;
      return drain();
    },
  };
}
