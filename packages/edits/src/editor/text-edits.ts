import { applyPatch } from "../apply.js";
import { createPatch } from "../diff/create.js";
import { diffLines } from "../diff/diff.js";
import { readSource } from "../diff/source.js";
import { spliceText } from "../lines.js";
import { needText } from "../need.js";
import type { FilePatch, Patch } from "../patch.js";
import type { AppliedHunk, ApplyOptions, Conflict } from "../result.js";
import type { Position, TextEdit } from "./protocol.js";

export type TextEdits =
  | { readonly ok: true; readonly edits: TextEdit[]; readonly hunks: readonly AppliedHunk[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] };

/**
 * Converts a patch to edits of an editor's document: whole lines, in order, not overlapping.
 * Law: applying them to the text gives `applyPatch(patch, text).text`. Positions count UTF-16 code units; a line ends at
 * `\n`, `\r\n` or `\r`, as in the protocol.
 */
export function toTextEdits(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): TextEdits {
  const applied = applyPatch(patch, text, options);
  if (!applied.ok) return applied;
  return { ok: true, edits: diffTexts(text, applied.text), hunks: applied.hunks };
}

/** Makes the edits that turn one text into another. */
export function diffTexts(before: string, after: string): TextEdit[] {
  const old = readSource(before);
  const now = readSource(after);
  const starts = lineStarts(before);
  let line = 0;
  const positionAt = (offset: number): Position => {
    while (line + 1 < starts.length && starts[line + 1]! <= offset) line++;
    return { line, character: offset - starts[line]! };
  };
  return diffLines(old, now).map(({ oldStart, oldEnd, newStart, newEnd }) => ({
    range: { start: positionAt(old.starts[oldStart]!), end: positionAt(old.starts[oldEnd]!) },
    newText: after.slice(now.starts[newStart], now.starts[newEnd]),
  }));
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + end.length);
  return starts;
}

export type TextEditsPatch =
  | { readonly ok: true; readonly patch: Patch }
  /** Two edits change the same characters; `edit` is the second one's index. */
  | { readonly ok: false; readonly reason: "overlap"; readonly edit: number; readonly message: string };

/**
 * Converts edits of a document to a patch. Law: it gives the same text as the edits. As in the protocol, a position
 * behind a line's end is its end, one behind the text is the text's end, and inserts at one place keep their order.
 */
export function fromTextEdits(edits: readonly TextEdit[], text: string, options: { path: string }): TextEditsPatch {
  needText({ text, path: options?.path });
  const starts = lineStarts(text);
  const offsetAt = ({ line, character }: Position): number => {
    const start = starts[Math.max(0, line)];
    if (start === undefined) return text.length;
    if (line < 0) return 0;
    let end = starts[line + 1] ?? text.length;
    while (end > start && line + 1 < starts.length && /[\r\n]/.test(text[end - 1]!)) end--;
    return Math.min(end, start + Math.max(0, character));
  };
  const splices = edits
    .map(({ range: { start, end }, newText: insert }, edit) => {
      const [first, last] = comparePositions(start, end) <= 0 ? [start, end] : [end, start];
      return { first, from: offsetAt(first), to: offsetAt(last), insert, edit };
    })
    // By position, not by offset, because positions behind the end of a line are still ordered.
    .sort((a, b) => comparePositions(a.first, b.first));
  const at = splices.findIndex(({ from }, i) => from < (splices[i - 1]?.to ?? 0));
  if (at < 0) return { ok: true, patch: createPatch(text, spliceText(text, splices), options) };
  const [previous, { edit }] = [splices[at - 1]!, splices[at]!];
  const message = `Edit ${edit} changes characters that edit ${previous.edit} changes.`;
  return { ok: false, reason: "overlap", edit, message };
}

function comparePositions(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character;
}
