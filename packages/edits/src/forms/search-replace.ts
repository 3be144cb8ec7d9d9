import type { FilePatch, Patch } from "../patch.js";
import type { Reading, Repair } from "../reading.js";
import { takeApart } from "../sides.js";
import type { ReadOptions } from "../stream/event.js";
import { parseWith } from "../stream/parse.js";
import { type Block, type BlockReading, type Form, refuse, type Writing } from "./block.js";
import { asLines, changeOf, endMatters } from "./change.js";
import { fenceFor, formatPathLine } from "./fence.js";

const OPEN = /^[ \t]*(?:<{5,9}|-{5,9}) SEARCH>?\s*$/;
const CLOSE = /^[ \t]*(?:>{5,9}|\+{5,9}) REPLACE\s*$/;
const DIVIDER = /^[ \t]*={5,9}\s*$/;
/** A marker that belongs to the content is written with a backslash before it. */
const ESCAPED = /^\\(?=\\*(?:[<>+-]{5,9} (?:SEARCH|REPLACE)>?|={5,9}|-{5,9}|:(?:start|end)_line:[ \t]*\d+)\s*$)/;

/**
 * SEARCH/REPLACE blocks: aider's (`<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`), those with dashes (`------- SEARCH`,
 * `+++++++ REPLACE`), and those with a line hint (`:start_line:10` and `-------` below the marker). The path stands above
 * the fence, in it, or is that of the block before. An empty SEARCH part without a line hint creates the file.
 */
export const searchReplace: Form = {
  name: "search-replace",
  open({ line, path, innerPath, previousPath, defaultPath }) {
    return OPEN.test(line) ? openSearchReplace(innerPath ?? path ?? previousPath ?? defaultPath) : null;
  },
};

function openSearchReplace(path: string | null): Block {
  let first = true;
  return {
    path,
    ownsFence: false,
    tentative: false,
    take(line) {
      if (first) first = false;
      else if (OPEN.test(line)) return "past";
      return CLOSE.test(line) ? "last" : "more";
    },
    read: (lines) => readSearchReplace(lines, path),
  };
}

function readSearchReplace(lines: readonly string[], path: string | null): BlockReading {
  const last = lines.length - 1;
  const start = lines.findIndex((line) => OPEN.test(line));
  if (!CLOSE.test(lines[last]!))
    return refuse(last, "unfinished", "The SEARCH block has no line `>>>>>>> REPLACE`; ask for the rest of it.");
  if (path === null)
    return refuse(start, "no-path", "The SEARCH block names no file; write its path on the line above the block.");
  const repairs: Repair[] = [];
  const divider = findDivider(lines, start, repairs);
  if (typeof divider !== "number") return divider;
  let from = start + 1;
  let line: number | null = null;
  for (let hint = readHint(lines[from]!); hint !== null && from < divider; hint = readHint(lines[++from]!))
    line ??= hint.start;
  if (line !== null && /^[ \t]*-{5,9}\s*$/.test(lines[from]!)) from++;
  const indent = indentOf(lines, start, repairs);
  const part = (begin: number, end: number) =>
    asLines(lines.slice(begin, end).map((each) => strip(each, indent).replace(ESCAPED, "")));
  const old = part(from, divider);
  const now = part(divider + 1, last);
  if (old.lines.length === 0 && line === null) {
    if (now.lines.length === 0)
      return refuse(start, "no-change", "Both parts of the SEARCH block are empty, so it changes nothing.");
    return {
      ok: true,
      files: [{ kind: "create", before: null, after: path, hunks: [changeOf(old, now, 1)!] }],
      repairs,
    };
  }
  const hunk = changeOf(old, now, line);
  if (hunk === null)
    return refuse(start, "no-change", "Both parts of the SEARCH block are the same, so it changes nothing.");
  return { ok: true, files: [{ kind: "modify", before: path, after: path, hunks: [hunk] }], repairs };
}

/** The line between the parts. A conflict of git in the content keeps its own; any other doubt is refused. */
function findDivider(lines: readonly string[], start: number, repairs: Repair[]): number | BlockReading {
  const [indent, marks] = splitMarker(lines[start]!);
  const found: number[] = [];
  for (let i = start + 1; i < lines.length - 1; i++) if (DIVIDER.test(lines[i]!)) found.push(i);
  const exact = found.filter((i) => {
    const [own, signs] = splitMarker(lines[i]!);
    return own === indent && signs.length === marks.length;
  });
  let candidates = exact.length > 0 ? exact : found;
  if (candidates.length > 1) {
    const inConflict = findConflicts(lines, start);
    candidates = candidates.filter((i) => !inConflict.has(i));
  }
  const [divider, second] = candidates;
  if (second !== undefined || (divider === undefined && found.length > 0))
    return refuse(
      second ?? start,
      "ambiguous",
      "Two lines could divide the SEARCH block; write a backslash before the one that belongs to the content.",
    );
  if (divider === undefined)
    return refuse(lines.length - 1, "bad-block", "The SEARCH block has no line `=======` between its two parts.");
  if (exact.length === 0)
    repairs.push({
      kind: "marker",
      line: divider,
      message: "The divider is not as long, or not as far to the right, as the marker above it.",
    });
  return divider;
}

/** A marker line's indentation and its signs. */
function splitMarker(line: string): readonly [indent: string, signs: string] {
  const [, indent = "", signs = ""] = /^([ \t]*)([<=-]*)/.exec(line)!;
  return [indent, signs];
}

/** The dividers of git's conflicts: between `<<<<<<< ours` and `>>>>>>> theirs`. */
function findConflicts(lines: readonly string[], start: number): Set<number> {
  const dividers = new Set<number>();
  let inside: number[] | null = null;
  for (let i = start + 1; i < lines.length - 1; i++) {
    if (/^<{7} /.test(lines[i]!)) inside = [];
    else if (/^>{7} /.test(lines[i]!)) {
      for (const divider of inside ?? []) dividers.add(divider);
      inside = null;
    } else if (DIVIDER.test(lines[i]!)) inside?.push(i);
  }
  return dividers;
}

function readHint(line: string): { start: number | null } | null {
  const match = /^[ \t]*:(start|end)_line:[ \t]*(\d{1,9})\s*$/.exec(line);
  if (match === null) return null;
  return { start: match[1] === "start" ? Math.max(1, Number(match[2])) : null };
}

/** Where the markers are indented and all lines with them, the block stands in a list and its indentation is not the file's. */
function indentOf(lines: readonly string[], start: number, repairs: Repair[]): string {
  const indent = /^[ \t]*/.exec(lines[start]!)![0];
  if (indent === "" || !lines.slice(start).every((line) => line.startsWith(indent) || line.trim() === "")) return "";
  repairs.push({
    kind: "indented-block",
    line: start,
    message: "The block is indented as a whole; that was taken off.",
  });
  return indent;
}

function strip(line: string, indent: string): string {
  return line.startsWith(indent) ? line.slice(indent.length) : line.trimStart();
}

/** Reads every SEARCH/REPLACE block of a text into one patch; text around them is left out. Refuses the text if one is broken. */
export function parseSearchReplace(text: string, options: ReadOptions = {}): Reading {
  return parseWith([searchReplace], text, options);
}

export interface SearchReplaceStyle {
  /** `aider` (the default) or the variant with dashes. */
  marks?: "aider" | "dashes";
  /** Write `:start_line:` where the place is known. Readers that do not know it take it for content. */
  startLine?: boolean;
}

/**
 * Writes a patch as SEARCH/REPLACE blocks, one for each hunk, each with its path above its fence. Law:
 * `parseSearchReplace(text).patch` equals the patch if its hunks are as `changeOf` makes them and, without `startLine`,
 * have no place.
 */
export function formatSearchReplace(patch: Patch, style: SearchReplaceStyle = {}): Writing {
  const out: string[] = [];
  const [open, close] =
    style.marks === "dashes" ? ["------- SEARCH", "+++++++ REPLACE"] : ["<<<<<<< SEARCH", ">>>>>>> REPLACE"];
  for (const file of patch.files) {
    const wordless = inexpressible(file, style.startLine ?? false);
    if (wordless !== null)
      return {
        ok: false,
        message: `SEARCH/REPLACE blocks have no word for ${wordless} (${file.after ?? file.before}).`,
      };
    for (const hunk of file.hunks) {
      const { old, new: now } = takeApart(hunk);
      const hint =
        style.startLine && file.kind === "modify" && hunk.oldStart !== null
          ? [`:start_line:${hunk.oldStart + (old.length === 0 ? 1 : 0)}`, "-------"]
          : [];
      const shield = (line: string) => (ESCAPED.test(`\\${line}`) ? `\\${line}` : line);
      const block = [open, ...hint, ...old.map(shield), "=======", ...now.map(shield), close];
      const fence = fenceFor(block);
      out.push(`${formatPathLine(file.after!)}\n${fence}\n${block.join("\n")}\n${fence}\n`);
    }
  }
  return { ok: true, text: out.join("\n") };
}

function inexpressible({ kind, whole, hunks }: FilePatch, places: boolean): string | null {
  if (whole) return "replacing a whole file";
  if (kind !== "modify" && kind !== "create") return `a ${kind}`;
  for (const hunk of hunks) {
    if (endMatters(hunk)) return "a last line without a newline";
    if (kind === "modify" && hunk.lines.every((line) => line[0] === "+") && !(places && hunk.oldStart !== null))
      return "an insertion without context";
  }
  return hunks.length === 0 ? "an empty file" : null;
}
