import { needOptions, needText } from "../need.js";
import type { ReadError, Reading } from "../reading.js";
import { unifiedDiffs } from "../unified/block.js";
import { beginPatch } from "./begin-patch.js";
import type { EditEvent, EditReader } from "./format.js";
import { JsonStrings } from "./json-strings.js";
import { unreadable } from "./message.js";
import { parseWith, scanEdits } from "./reader.js";
import { searchReplace } from "./search-replace.js";
import { PATH, parseJson, parseStrReplace, readCalls } from "./str-replace.js";

export interface CallOptions {
  /** The file of a call that names none. */
  readonly path?: string | undefined;
  /** The file's text, as for `parseStrReplace`. */
  readonly text?: string | undefined;
  /** The most UTF-16 code units that are kept. Default: 4 Mi. */
  readonly limit?: number | undefined;
}

const NEW_TEXT = /^(?:new(?:_?(?:str|string|text))?|insert_text|file_text|contents?)$/i;
/** Fields whose string is a patch, or JSON again. */
const PATCH = /^(?:input|arguments|patch|diff)(?:_?text)?$/i;
const FORMATS = [beginPatch, searchReplace, /* @__PURE__ */ unifiedDiffs()];
const MAX_PATH = 4096;

function parseCall(source: string, options: CallOptions): Reading {
  const [call, another] = readCalls(parseJson(source));
  if (call?.patch === undefined || another !== undefined) return parseStrReplace(source, options);
  const path = call.path ?? options.path;
  return parseWith(FORMATS, call.patch, path === undefined ? {} : { path });
}

/**
 * Creates a reader for the JSON arguments of an edit tool's call while they stream, cut anywhere. It emits the `path`, the new
 * text as clean `progress`, and at the end one `edit` or `error`: calls as `parseStrReplace` takes them, and those whose `input`,
 * `patch` or `diff` is the text of a patch. Law: the events, adjacent
 * progress joined, depend only on the whole. Linear; at most `limit` UTF-16 code units are kept.
 */
export function readCall(options: CallOptions = {}): EditReader {
  needOptions(options, { path: "string", text: "string", limit: "number" });
  return new CallReader(options);
}

type TakePiece = (piece: string, isEnd: boolean) => void;

class CallReader implements EditReader {
  readonly #options: CallOptions;
  readonly #limit: number;
  readonly #strings = new JsonStrings((key) => this.#openString(key));
  #events: EditEvent[] = [];
  #pieces: string[] = [];
  #size = 0;
  #hasStarted = false;
  #isOver = false;
  /** The last text that was shown. */
  #last = "\n";

  constructor(options: CallOptions) {
    this.#options = options;
    this.#limit = options.limit ?? 4 << 20;
  }

  push(text: string): EditEvent[] {
    needText({ text });
    if (this.#isOver) return [];
    this.#size += text.length;
    if (this.#size <= this.#limit) {
      this.#pieces.push(text);
      this.#strings.push(text);
    } else {
      this.#fail(unreadable(0, "too-long", `over ${this.#limit} UTF-16 code units`), "");
      this.#pieces = [];
    }
    return this.#drain();
  }

  end(): EditEvent[] {
    if (this.#isOver) return [];
    const source = this.#pieces.join("");
    const reading = this.#strings.isComplete ? parseCall(source, this.#options) : null;
    if (reading === null) this.#fail(unreadable(0, "unfinished"), source);
    else if (reading.ok) this.#emit({ type: "edit", edit: 0, patch: reading.patch, repairs: reading.repairs });
    else this.#fail(reading.errors[0]!, source);
    this.#isOver = true;
    return this.#drain();
  }

  /** What takes the pieces of a string that is the value of this key; null for a string that shows nothing. */
  #openString(key: string): TakePiece | null {
    if (PATH.test(key)) {
      let path = "";
      return (piece, isEnd) => {
        if (path.length < MAX_PATH) path += piece;
        if (isEnd && path !== "") this.#emit({ type: "path", edit: 0, path });
      };
    }
    if (PATCH.test(key)) return this.#takePatch();
    if (!NEW_TEXT.test(key)) return null;
    // The new texts of several edits are lines below each other.
    if (!this.#last.endsWith("\n")) this.#show("\n");
    return (piece) => this.#show(piece);
  }

  /** A string that is JSON again, or the text of a patch: its first letter tells. */
  #takePatch(): TakePiece {
    let blank = "";
    let inner: JsonStrings | EditReader | null = null;
    return (piece, isEnd) => {
      let text = piece;
      blank = inner === null ? blank + piece : "";
      if (inner === null && blank.trim() !== "") {
        const isJson = /^\s*[[{]/.test(blank);
        inner = isJson ? new JsonStrings((key) => this.#openString(key)) : scanEdits(FORMATS, { limit: this.#limit });
        text = blank;
      }
      if (inner instanceof JsonStrings) inner.push(text);
      else if (inner !== null)
        for (const event of [...inner.push(text), ...(isEnd ? inner.end() : [])]) {
          if (event.type === "path") this.#emit({ ...event, edit: 0 });
          else if (event.type === "progress") this.#show(event.text);
        }
    };
  }

  #show(text: string): void {
    if (text === "") return;
    this.#last = text;
    this.#emit({ type: "progress", edit: 0, text });
  }

  #fail({ line, reason, message }: ReadError, source: string): void {
    this.#isOver = true;
    // What is wrong with the call as a whole has no line.
    this.#emit({ type: "error", edit: 0, error: { line: Math.max(1, line), reason, message }, source });
  }

  #emit(event: EditEvent): void {
    if (!this.#hasStarted) this.#events.push({ type: "start", edit: 0, format: "str-replace" });
    this.#hasStarted = true;
    this.#events.push(event);
  }

  #drain(): EditEvent[] {
    const drained = this.#events;
    this.#events = [];
    return drained;
  }
}
