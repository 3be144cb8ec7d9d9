import { joinLines, splitLines } from "../lines.js";
import type { FilePatch, Patch } from "../patch.js";
import type { Reading } from "../reading.js";
import { takeApart } from "../sides.js";
import { type BlockReading, refuse } from "./block.js";
import { asLines, changeOf, endMatters, gather } from "./change.js";

/** A tool call as the text-editor tools have it. */
export type StrReplaceCall =
  | { readonly command: "str_replace"; readonly path: string; readonly old_str: string; readonly new_str: string }
  | { readonly command: "create"; readonly path: string; readonly file_text: string }
  | { readonly command: "insert"; readonly path: string; readonly insert_line: number; readonly new_str: string };

export interface StrReplaceOptions {
  /** The file that calls without a path are about. */
  path?: string;
  /**
   * The file's text. With it `old_str` may be a part of a line, as the tools allow: it is widened to whole lines where it
   * stands exactly once. A patch is of whole lines, so without the text such a call will not be found.
   */
  text?: string;
}

const NAMES = {
  path: ["path", "file_path", "filePath", "file", "filename", "target_file"],
  old: ["old_str", "old_string", "oldString", "old_text", "oldText", "old"],
  now: ["new_str", "new_string", "newString", "new_text", "newText", "new", "insert_text"],
  text: ["file_text", "content", "contents"],
};

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads calls of a text-editor tool: one, a list, `{ path, edits: [...] }`, or any of these as JSON text or inside
 * `{ name, input }` or `{ name, arguments }`. Never throws; a call that is no edit is an error that says so.
 */
export function parseStrReplace(input: unknown, options: StrReplaceOptions = {}): Reading {
  const calls: Fields[] = [];
  flatten(parseJson(input), {}, calls, 0);
  const files: FilePatch[] = [];
  for (const call of calls) {
    const reading = readCall(call, options);
    if (!reading.ok) return { ok: false, errors: [{ line: 1, reason: reading.reason, message: reading.message }] };
    for (const file of reading.files) files.push(file);
  }
  if (files.length === 0)
    return {
      ok: false,
      errors: [{ line: 1, reason: "no-hunk", message: "There is no call with a path, an old and a new string." }],
    };
  return { ok: true, patch: gather(files), repairs: [] };
}

/** Whether a JSON value is nothing but such calls, so that a fence with it is meant as edits. */
export function looksLikeCalls(value: unknown): boolean {
  const calls: Fields[] = [];
  flatten(value, {}, calls, 0);
  return (
    calls.length > 0 &&
    calls.every((call) => {
      if (pick(call, NAMES.old) !== undefined && pick(call, NAMES.now) !== undefined) return true;
      return (
        (call.command === "create" && pick(call, NAMES.text) !== undefined) ||
        (call.command === "insert" && call.insert_line !== undefined)
      );
    })
  );
}

export function parseJson(input: unknown): unknown {
  if (typeof input !== "string") return input;
  try {
    return JSON.parse(input);
  } catch {
    return null;
  }
}

/** Calls may lie in lists and in the envelopes of providers, a few deep. */
function flatten(value: unknown, outer: Fields, calls: Fields[], depth: number): void {
  if (depth > 4 || typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const each of value) flatten(each, outer, calls, depth + 1);
    return;
  }
  const fields = { ...outer, ...value } as Fields;
  const inner = fields.input ?? fields.arguments ?? fields.function ?? fields.edits;
  if (inner === undefined || inner === null) {
    calls.push(fields);
    return;
  }
  const path = pick(fields, NAMES.path);
  flatten(parseJson(inner), path === undefined ? {} : { path }, calls, depth + 1);
}

function pick(fields: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string") return value;
  }
  return undefined;
}

function readCall(fields: Fields, options: StrReplaceOptions): BlockReading {
  const path = pick(fields, NAMES.path) ?? options.path;
  const old = pick(fields, NAMES.old);
  const now = pick(fields, NAMES.now);
  const text = pick(fields, NAMES.text);
  const command =
    pick(fields, ["command"]) ?? (old !== undefined ? "str_replace" : text !== undefined ? "create" : "insert");
  if (path === undefined) return refuse(0, "no-path", "The call names no file; give it a `path`.");
  if (command === "create" && text !== undefined) {
    const hunk = changeOf(asLines([]), splitLines(text), 1);
    return one({ kind: "create", before: null, after: path, hunks: hunk === null ? [] : [hunk] });
  }
  const line = fields.insert_line;
  if (command === "insert" && typeof line === "number" && Number.isSafeInteger(line) && line >= 0 && now) {
    return one({
      kind: "modify",
      before: path,
      after: path,
      hunks: [changeOf(asLines([]), asLines(splitLines(now).lines), line + 1)!],
    });
  }
  if (command !== "str_replace" || old === undefined || now === undefined)
    return refuse(
      0,
      "bad-block",
      `The call "${command}" for ${path} is no edit that can be read; use str_replace with old_str and new_str, insert or create.`,
    );
  if (fields.replace_all === true || fields.replaceAll === true)
    return refuse(
      0,
      "ambiguous",
      "The call is to replace every occurrence; a patch names each place. Write one call for each.",
    );
  if (old === now) return refuse(0, "no-change", `Old and new string of the call for ${path} are the same.`);
  if (old === "")
    return refuse(
      0,
      "bad-block",
      `The call for ${path} has an empty old string; use insert, or create for a new file.`,
    );
  return readReplacement(path, old, now, options.text);
}

/** The place is never said: old strings are unique without it, and a place would hide that a call was applied before. */
function readReplacement(path: string, old: string, now: string, text = ""): BlockReading {
  const at = text.indexOf(old);
  const shift = now.indexOf(old);
  const applied = shift >= 0 && shift <= at && text.startsWith(now, at - shift);
  if (at !== -1 && !applied && text.indexOf(old, at + 1) === -1) {
    const start = text.lastIndexOf("\n", at - 1) + 1;
    const end =
      old.endsWith("\n") && (now === "" || now.endsWith("\n")) ? at + old.length : lineEnd(text, at + old.length);
    const before = splitLines(text.slice(start, end));
    const after = splitLines(text.slice(start, at) + now + text.slice(at + old.length, end));
    const hunk = changeOf(before, after);
    if (hunk !== null) return one({ kind: "modify", before: path, after: path, hunks: [hunk] });
  }
  // Whether a string ends with a line feed is habit, not meaning: the lines are what counts.
  const hunk = changeOf(asLines(splitLines(old).lines), asLines(splitLines(now).lines));
  if (hunk === null) return refuse(0, "no-change", `Old and new string of the call for ${path} have the same lines.`);
  return one({ kind: "modify", before: path, after: path, hunks: [hunk] });
}

function lineEnd(text: string, from: number): number {
  const feed = text.indexOf("\n", from);
  return feed === -1 ? text.length : feed + 1;
}

function one(file: FilePatch): BlockReading {
  return { ok: true, files: [file], repairs: [] };
}

export type StrReplaceWriting =
  | { readonly ok: true; readonly calls: readonly StrReplaceCall[] }
  | { readonly ok: false; readonly message: string };

/**
 * Writes a patch as calls, one for each hunk. Law: `parseStrReplace(calls).patch` equals the patch if its hunks are as
 * `changeOf` makes them and have no place, insertions without context apart, which have one.
 */
export function formatStrReplace(patch: Patch): StrReplaceWriting {
  const calls: StrReplaceCall[] = [];
  for (const { kind, before, after, whole, hunks } of patch.files) {
    const path = after ?? before!;
    if (whole || (kind !== "modify" && kind !== "create"))
      return {
        ok: false,
        message: `The text-editor calls have no word for ${whole ? "replacing a whole file" : `a ${kind}`} (${path}).`,
      };
    if (kind === "create") {
      const lines = hunks.flatMap((hunk) => takeApart(hunk).new);
      calls.push({ command: "create", path, file_text: joinLines(asLines(lines, !hunks[0]?.newNoNewline)) });
      continue;
    }
    for (const hunk of hunks) {
      const { old, new: now } = takeApart(hunk);
      if (endMatters(hunk)) return { ok: false, message: `A call cannot say that ${path} ends without a newline.` };
      if (old.length > 0)
        calls.push({
          command: "str_replace",
          path,
          old_str: joinLines(asLines(old)),
          new_str: joinLines(asLines(now)),
        });
      else if (hunk.oldStart === null)
        return { ok: false, message: `A call cannot insert into ${path} without a place.` };
      else calls.push({ command: "insert", path, insert_line: hunk.oldStart, new_str: joinLines(asLines(now)) });
    }
  }
  return { ok: true, calls };
}
