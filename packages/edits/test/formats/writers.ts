import { lastLines } from "../../src/hunk.js";
import { splitLines } from "../../src/lines.js";
import { type FileKind, type FilePatch, filesOf, type Hunk, type Patch } from "../../src/patch.js";
import { asText, newText, remake } from "../../src/read/change.js";
import { parsePathLine } from "../../src/read/path-line.js";
import { takeApart } from "../../src/sides.js";

/** Writes a patch as a model writes it in one format, for readers to read back; null where the format cannot express it. */
export type Write = (patch: Patch) => string | null;

/** Joins the written parts of each file. */
function writeFiles(
  patch: Patch,
  kinds: readonly FileKind[],
  write: (file: FilePatch, path: string) => string[] | null,
) {
  const pieces = filesOf(patch).map((file) =>
    file.whole || !kinds.includes(file.kind) ? null : write(file, file.after ?? file.before!),
  );
  return pieces.includes(null) ? null : pieces.flat().join("\n");
}

/** Whether a block that cannot express a missing final newline would be another change without it. */
function needsEnd(hunk: Hunk): boolean {
  if (hunk.oldNoNewline !== hunk.newNoNewline) return true;
  const lines = hunk.oldNoNewline ? (remake(hunk)?.lines ?? []) : [];
  const tail = lines.slice(lines.findLastIndex((line) => line[0] === " ") + 1);
  return tail.length > 0 && tail.every((line) => line[0] === "-");
}

function fence(lines: readonly string[], info = ""): string {
  const marks = lines.map((line) => /^[ \t+-]*(`*)/.exec(line)![1]!.length);
  const around = "`".repeat(Math.max(2, ...marks) + 1);
  return `${[around + info, ...lines, around].join("\n")}\n`;
}

/** The path as a line of its own, so that `parsePathLine` gives it back. */
export function pathLine(path: string): string {
  return [path, `\`${path}\``].find((line) => parsePathLine(line) === path) ?? `<path>${path}</path>`;
}

function isBare({ lines }: Hunk): boolean {
  return lines.every((line) => line[0] === "+");
}

const MARKER = /^\\*(?:[<>+-]{5,9} (?:SEARCH|REPLACE)>?|={5,9}|-{5,9}|:(?:start|end)_line:[ \t]*\d+)\s*$/;

function searchReplace([open, close]: readonly [string, string], isPlaced: boolean): Write {
  const shield = (line: string) => (MARKER.test(line) ? `\\${line}` : line);
  return (patch) =>
    writeFiles(patch, ["modify", "create"], (file, path) => {
      const hasPlace = isPlaced && file.kind === "modify";
      const cannot = file.hunks.some((hunk) => needsEnd(hunk) || (file.kind === "modify" && !hasPlace && isBare(hunk)));
      if (cannot || file.hunks.length === 0) return null;
      return file.hunks.map(takeApart).map(({ old, new: now, hint }) => {
        const place = hasPlace ? [`:start_line:${hint! + 1}`, "-------"] : [];
        return `${pathLine(path)}\n${fence([open, ...place, ...old.map(shield), "=======", ...now.map(shield), close])}`;
      });
    });
}

export const writeSearchReplace = searchReplace(["<<<<<<< SEARCH", ">>>>>>> REPLACE"], false);
export const writeDashes = searchReplace(["------- SEARCH", "+++++++ REPLACE"], true);

export function writeBeginPatch(patch: Patch): string | null {
  const verbs = { create: "Add", modify: "Update", rename: "Update", delete: "Delete", copy: "" };
  const body = writeFiles(patch, ["create", "modify", "rename", "delete"], (file, path) => {
    const { kind, before, after } = file;
    const hunks = kind === "delete" ? [] : file.hunks;
    const isLost = (hunk: Hunk) => needsEnd(hunk) || (kind !== "create" && isBare(hunk) && !hunk.atEnd);
    if (hunks.some(isLost)) return null;
    const out = [`*** ${verbs[kind]} File: ${before ?? path}`];
    if (kind === "rename") out.push(`*** Move to: ${after}`);
    for (const { anchors = [], atEnd, lines } of hunks) {
      if (kind !== "create") out.push(...(anchors.length === 0 ? ["@@"] : anchors.map((anchor) => `@@ ${anchor}`)));
      out.push(...lines, ...(atEnd ? ["*** End of File"] : []));
    }
    return out;
  });
  return body === null ? null : `*** Begin Patch\n${body}\n*** End Patch\n`;
}

export function writeEditBlocks(patch: Patch): string | null {
  return writeFiles(patch, ["modify", "create", "delete"], (file, path) => {
    const blocks = (file.hunks.length > 0 ? file.hunks : [null]).map((hunk) => fieldsOf(file, path, hunk));
    return blocks.includes(null) ? null : blocks.map((lines) => fence(lines!, "edit"));
  });
}

function fieldsOf({ kind, reason }: FilePatch, path: string, hunk: Hunk | null): string[] | null {
  const isEdit = kind === "modify";
  const head = [`file: ${scalar(path)}`, `action: ${isEdit ? "edit" : kind}`];
  const tail = reason === undefined ? [] : [`reason: ${scalar(reason)}`];
  if (hunk === null) return isEdit ? null : [...head, ...tail];
  const { old, new: now, hint } = takeApart(hunk);
  const hasEnd = !isEdit || needsEnd(hunk);
  const isBothEnds = old.length * now.length > 0 && hunk.oldNoNewline !== hunk.newNoNewline;
  if (isEdit && hasEnd && !isBothEnds) return null;
  if (isEdit && hint !== null) head.push(`line_start: ${hint + 1}`, `line_end: ${hint + old.length}`);
  const before = kind === "create" ? [] : content("old_content", old, !(hasEnd && hunk.oldNoNewline));
  const after = kind === "delete" ? [] : content("new_content", now, !(hasEnd && hunk.newNoNewline));
  return before && after && [...head, ...before, ...after, ...tail];
}

function scalar(value: string): string {
  return /^[\w./@(][^\n\r]*$/.test(value) && value.trim() === value ? value : JSON.stringify(value);
}

function content(key: string, lines: readonly string[], finalNewline: boolean): string[] | null {
  if (lines.length === 0) return [`${key}: ""`];
  const isTrailing = /^\r?$/.test(lines.at(-1)!);
  if (isTrailing && !finalNewline) return null;
  const start = lines.find((line) => line.trim() !== "");
  const digit = start === undefined || /^\s/.test(start) ? "2" : "";
  const chomp = isTrailing ? "+" : finalNewline ? "" : "-";
  return [`${key}: |${digit}${chomp}`, ...lines.map((line) => (/^\r?$/.test(line) ? line : `  ${line}`))];
}

export function writeStrReplace(patch: Patch): string | null {
  const calls = writeFiles(patch, ["modify", "create"], ({ kind, hunks }, path) => {
    if (kind === "create") return [JSON.stringify({ command: "create", path, file_text: newText(hunks) })];
    if (hunks.some((hunk) => needsEnd(hunk) || (hunk.oldStart === null && isBare(hunk)))) return null;
    return hunks.map((hunk) => {
      const { old, new: now } = takeApart(hunk);
      // The string is in the file as it is, which may end without a newline.
      const new_str = asText(now, !hunk.newNoNewline);
      const old_str = asText(old, !hunk.oldNoNewline);
      return JSON.stringify(
        old.length > 0
          ? { command: "str_replace", path, old_str, new_str }
          : { command: "insert", path, insert_line: hunk.oldStart!, new_str },
      );
    });
  });
  return calls === null ? null : `[${calls.split("\n").join(",")}]`;
}

export function writeWholeFiles(patch: Patch): string | null {
  return writeFiles(patch, ["create"], ({ hunks }, path) =>
    hunks.some(({ newNoNewline, lines }) => newNoNewline && lastLines(lines).new >= 0)
      ? null
      : [`${pathLine(path)}\n${fence(splitLines(newText(hunks)).lines)}`],
  );
}
