import { createPatch } from "../diff/create.js";
import { spliceText, splitLines } from "../lines.js";
import { findEvery, findParts, withEndsOf } from "../match/search.js";
import { needOptions } from "../need.js";
import type { FilePatch, Hunk } from "../patch.js";
import { quote, type Reading, type Repair } from "../reading.js";
import { asText, changeOf, create, gather, modify, modifyBy, takeOffGutter } from "./change.js";
import { closesFence } from "./fence.js";
import type { Format } from "./format.js";
import { attempt, lost, refuse, Unreadable } from "./message.js";

export interface StrReplaceOptions {
  /** The file that calls without a path are about. */
  path?: string | undefined;
  /**
   * The file's text. With it `old_str` may be a part of a line, as the tools allow: it is widened to whole lines where it
   * stands exactly once, and to each of its places where the call replaces all. A patch is of whole lines, so without the text the
   * first will not be found, and the second is refused.
   */
  text?: string | undefined;
}

/**
 * Reads calls of a text-editor tool: one, a list, `{ path, edits: [...] }`, or any of these as JSON text or inside
 * `{ name, input }` or `{ name, arguments }`. Never throws; a call that is no edit gives an error with the reason.
 */
export function parseStrReplace(input: unknown, options: StrReplaceOptions = {}): Reading {
  needOptions(options, { path: "string", text: "string" });
  const read = attempt((repairs) => {
    const calls = readCalls(parseJson(input));
    return calls.length === 0 ? refuse(0, "no-hunk") : calls.flatMap((call) => readChange(call, options, repairs));
  });
  if (read instanceof Unreadable)
    return { ok: false, errors: [{ line: 1, reason: read.reason, message: read.message }] };
  return { ok: true, patch: gather(read.files), repairs: read.repairs.map((repair) => ({ ...repair, line: 1 })) };
}

export function parseJson(input: unknown): unknown {
  if (typeof input !== "string") return input;
  try {
    return JSON.parse(input);
  } catch {
    return null;
  }
}

/** A call under the names that the tools have for the same things. */
export interface Call {
  readonly path: string | undefined;
  /** The text of a patch, as `apply_patch` and `apply_diff` have it instead of what follows. */
  readonly patch?: string;
  readonly old: string | undefined;
  readonly now: string | undefined;
  readonly text: string | undefined;
  readonly command: string;
  readonly line: unknown;
  readonly all: boolean;
  /** A text without a command, as tools that write whole files send it: it replaces a file that is there. */
  readonly replaces: boolean;
}

export const PATH = /^(?:path|(?:target_)?file(?:_?path|name)?)$/i;
const PATCH = /^(?:patch|diff|patch_?text)$/i;
const NOTHING = { old: undefined, now: undefined, text: undefined, line: undefined, all: false, replaces: false };

/** The calls of a JSON value: they may be nested in lists and providers' envelopes, a few levels deep. */
export function readCalls(value: unknown, outer?: string, depth = 0): Call[] {
  if (depth > 4 || value === null) return [];
  if (typeof value === "string") {
    const parsed = parseJson(value);
    if (parsed !== null) return readCalls(parsed, outer, depth);
    return [{ ...NOTHING, path: outer, command: "apply_patch", patch: value }];
  }
  if (typeof value !== "object") return [];
  if (Array.isArray(value) && value[0] === "apply_patch") return readCalls(value[1], outer, depth + 1);
  if (Array.isArray(value)) return value.flatMap((each) => readCalls(each, outer, depth + 1));
  return readFields(value as Readonly<Record<string, unknown>>, outer, depth);
}

function readFields(fields: Readonly<Record<string, unknown>>, outer: string | undefined, depth: number): Call[] {
  const pick = (name: RegExp) =>
    Object.entries(fields).find(([key, text]) => name.test(key) && typeof text === "string")?.[1] as string | undefined;
  const path = pick(PATH) ?? outer;
  const command = Array.isArray(fields.command) ? fields.command : undefined;
  const inner = fields.input ?? fields.arguments ?? fields.function ?? fields.edits ?? command ?? pick(PATCH);
  if (inner !== undefined && inner !== null) return readCalls(inner, path, depth + 1);
  const old = pick(/^old(_?(str|string|text))?$/i);
  const now = pick(/^(new(_?(str|string|text))?|insert_text)$/i);
  const text = pick(/^(file_text|contents?)$/);
  const said = pick(/^command$/);
  const verb = said ?? (old !== undefined ? "str_replace" : text !== undefined ? "create" : "insert");
  const replaces = said === undefined && verb === "create";
  const all = (fields.replace_all ?? fields.replaceAll) === true;
  return [{ path, old, now, text, command: verb, line: fields.insert_line, all, replaces }];
}

/** Whether the calls can be meant as edits, so that a fence with them is one. */
function areEdits(calls: readonly Call[]): boolean {
  const isEdit = ({ old, now, text, command, line }: Call) =>
    (old !== undefined && now !== undefined) ||
    (command === "create" && text !== undefined) ||
    (command === "insert" && line !== undefined);
  return calls.length > 0 && calls.every(isEdit);
}

export function readChange(call: Call, options: StrReplaceOptions, repairs: Repair[]): FilePatch[] {
  const { command, text, line, old, patch } = call;
  if (patch !== undefined) refuse(0, "no-hunk");
  // A line feed at the end as the old string has it: else the next line would be glued to the new one.
  const now = old?.endsWith("\n") && call.now && !call.now.endsWith("\n") ? `${call.now}\n` : call.now;
  const path = call.path ?? options.path ?? refuse(0, "no-path");
  if (command === "create" && text !== undefined) return [create(path, text)];
  if (command === "insert" && Number.isSafeInteger(line) && (line as number) >= 0 && now)
    return [modify(path, [changeOf("", asText(splitLines(now).lines), (line as number) + 1)!])];
  if (command === "str_replace" && old !== undefined && now !== undefined)
    return replace(path, old, now, call.all, options.text, repairs);
  return refuse(0, "bad-block", `${command} of ${path} is no str_replace with old_str and new_str, insert or create`);
}

function replace(path: string, old: string, now: string, all: boolean, text: string | undefined, repairs: Repair[]) {
  if (old === "" && now !== "")
    // All of a file that is empty or not there yet, and the start of any other.
    return text === undefined ? [create(path, now)] : [modify(path, [changeOf("", now, 1)!])];
  const every = all ? replaceAll(path, old, now, text) : null;
  if (every !== null) return every;
  const widened = widen(old, now, text);
  if (widened !== null) return modifyBy(path, widened, repairs, 0);
  const bare = takeOffGutter(splitLines(old).lines, splitLines(now).lines, repairs, 0);
  return modifyBy(path, changeOf(asText(bare.old), asText(bare.now)), repairs, 0);
}

/** The change at every place. Null where the text has no such place, or none that an earlier call has left. */
function replaceAll(path: string, old: string, now: string, text: string | undefined): FilePatch[] | null {
  if (text === undefined)
    return refuse(0, "ambiguous", "a patch names each place; give the text, or write one call for each place");
  const splices = findLeft(old, now, text).map((part) => ({ ...part, insert: withEndsOf(text, part.from, now) }));
  if (splices.length > 0) return [...createPatch(text, spliceText(text, splices), { path }).files];
  const [before, after] = [splitLines(old).lines, splitLines(now).lines];
  const hunks = findEvery(before, text).flatMap((row) => changeOf(asText(before), asText(after), row + 1) ?? []);
  return hunks.length > 0 ? hunks.map((hunk) => modify(path, [hunk])) : null;
}

/** Every part that the old string is, but for those in the result of an earlier call, which may contain it again. */
function findLeft(old: string, now: string, text: string) {
  const made = findParts(old, now).length > 0 ? findParts(now, text) : [];
  return findParts(old, text).filter(({ from, to }) => !made.some((each) => each.from <= from && to <= each.to));
}

/** The change of whole lines where the old string is once. It has no place, which would hide that a call was applied before. */
function widen(old: string, now: string, text = ""): Hunk | null {
  const parts = findParts(old, text);
  const left = findLeft(old, now, text);
  // As whole lines it may occur once; the tool would still refuse it.
  if (left.length > 1) refuse(0, "ambiguous", `${quote(old)} stands more than once; write more of the lines around it`);
  const [part] = left;
  // Also where it overlaps itself it stands more than once.
  if (!part || parts.length > 1 || findParts(old, text.slice(part.from + 1)).length > 0) return null;
  const { from, to } = part;
  // A negative place would count as 0.
  const start = from === 0 ? 0 : text.lastIndexOf("\n", from - 1) + 1;
  const feed = text.indexOf("\n", to);
  const made = withEndsOf(text, from, now);
  if (old.endsWith("\n")) return changeOf(text.slice(start, to), text.slice(start, from) + made);
  const end = feed === -1 ? text.length : feed + 1;
  // Of whole lines a line feed behind the new ones is their end, as without the text, and no blank line more.
  const isLines = start === from && /^\r?\n?$/.test(text.slice(to, end));
  const written = isLines ? made.replace(/\r?\n$/, "") : made;
  return changeOf(text.slice(start, end), text.slice(start, from) + written + text.slice(to, end));
}

const INFO = /^(?:|jsonc?|str_replace|tool_(?:call|use))$/;
/** A field of a call, where its value begins. */
const FIELD = /["'](?:old_?(?:str(?:ing)?|text)|file_text|insert_line)["']\s*:\s*["'\d]|"command"\s*:\s*"str_replace"/i;
const TAG = /^<(?:parameter name=")?(?:str_replace|old_?(?:str|text))/i;
/** Strings of JSON hold no line feeds, so calls take few lines; a longer value is not read to its end. */
const MAX_LINES = 64;

/** A fenced JSON value that turns out to be such a call. Any other JSON value is text. */
export const callFences: Format = {
  name: "str-replace",
  findLost(line, fence, written) {
    const isField = /^[[{"']/.test(line) && (fence === null || INFO.test(fence.info)) && FIELD.test(line);
    const advice = "send one JSON value with path, old_str and new_str, alone in a fence";
    return isField || TAG.test(line) ? lost(written, advice) : null;
  },
  open({ line, path, fence, isFenceStart, defaultPath }) {
    if (!isFenceStart || !fence?.length || !/^\s*[[{]/.test(line) || !INFO.test(fence.info)) return null;
    const options = { path: path ?? defaultPath ?? undefined };
    let taken: string[] = [];
    let calls: Call[] = [];
    return {
      path: null,
      ownsFence: true,
      isTentative: true,
      take(text) {
        if (!closesFence(text, fence)) return taken.push(text) > MAX_LINES ? "text" : "more";
        calls = readCalls(parseJson(taken.join("\n")));
        taken = [];
        this.path = calls[0]?.path ?? options.path ?? null;
        return areEdits(calls) ? "last" : "text";
      },
      show: (_, row) => (row === 0 ? calls.map(({ now, text }) => now ?? text ?? "").join("\n") : null),
      read: ({ repairs }) => calls.flatMap((call) => readChange(call, options, repairs)),
    };
  },
};
