import type { FilePatch, Hunk, Patch } from "../patch.js";
import type { ApplyResult, Rung } from "../result.js";
import type { ApplyOptions } from "./aligner.js";
import { evenEndings } from "./endings.js";
import { applyFile } from "./file.js";
import { climb, type Ladder } from "./ladder.js";
import { needApplyOptions } from "./options.js";
import { applyInRange } from "./range.js";

/** Applies a patch by the rungs of a ladder. */
export function applyBy(ladder: Ladder, patch: FilePatch | Patch, text: string, options: ApplyOptions): ApplyResult {
  needApplyOptions(options);
  const { at } = options;
  if (at !== undefined)
    return applyInRange(patch, text, at, (part) => applyBy(ladder, patch, part, { ...options, at: undefined }));
  return applyFile(patch, text, (hunks, text, path) => applyHunks(ladder, hunks, text, path, options));
}

function applyHunks(
  ladder: Ladder,
  hunks: readonly Hunk[],
  text: string,
  path: string,
  options: ApplyOptions,
): ApplyResult {
  // Lines inserted by number alone match nothing that would show the text's byte order mark and line endings.
  const bare = hunks.some(({ lines }) => lines.every((line) => line[0] === "+"));
  const plain = !bare || (text[0] !== "\ufeff" && !text.includes("\r"));
  const standing = plain ? ladder.stand?.(hunks, text, [], true) : null;
  if (standing) return standing;
  const even = options.loosest === "exact" ? hunks : evenEndings(hunks, text);
  const repairs: Rung[] = even === hunks ? [] : ["line-endings"];
  // A byte order mark belongs to no line, unless the patch itself has one.
  const mark = text[0] === "\ufeff" && !hunks.some(({ lines }) => lines.some((line) => line.includes("\ufeff")));
  const body = mark ? text.slice(1) : text;
  const result = ladder.stand?.(even, body, repairs, false) ?? climb(even, body, path, repairs, ladder, options);
  return mark && result.ok ? { ...result, text: `\ufeff${result.text}` } : result;
}
