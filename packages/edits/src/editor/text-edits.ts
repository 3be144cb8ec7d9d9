import { applyPatch } from "../apply.js";
import { diffLines } from "../diff/diff.js";
import { readSource } from "../diff/source.js";
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
