import { expect } from "vitest";
import { type ApplyResult, applyPatch, applyStrictly, invertPatch, selectHunks } from "../src/index.js";
import type { FilePatch, Patch } from "../src/patch.js";
import { formatPatch, parseStrictly } from "../src/unified/parse.js";

/** The text that a patch must give; a conflict fails the test and shows itself. */
export function applied(patch: Patch | FilePatch, text: string): string {
  return taken(applyPatch(patch, text), patch);
}

export function taken(result: ApplyResult, patch: Patch | FilePatch): string {
  if (!result.ok)
    expect.fail(`conflicts: ${JSON.stringify(result.conflicts)} of ${JSON.stringify(patch).slice(0, 2000)}`);
  return result.text;
}

/** All laws of a patch that was made exactly: `patch` makes `before` into `after`. Called for every case of every test. */
export function expectLaws(patch: Patch, before: string, after: string): void {
  const inverse = invertPatch(patch);
  const ids = patch.files.flatMap((file) => file.hunks.map((hunk) => hunk.id));
  expect(applied(patch, before)).toBe(after);
  // Without context a place is only a number, which git takes for it only with an option.
  const unidiffZero = patch.files.some(({ hunks }) =>
    hunks.some(({ lines }) => lines.every((line) => /^[-+]/.test(line))),
  );
  expect(taken(applyStrictly(patch, before, { unidiffZero }), patch)).toBe(after);
  expect(applied(inverse, after)).toBe(before);
  expect(taken(applyStrictly(inverse, after, { unidiffZero }), inverse)).toBe(before);
  expect(invertPatch(inverse)).toEqual(patch);
  expect(JSON.parse(JSON.stringify(patch))).toEqual(patch);
  if (patch.files.length > 0) {
    const read = parseStrictly(formatPatch(patch));
    expect(read).toEqual({ ok: true, patch, repairs: [] });
  }
  expect(selectHunks(patch, ids)).toEqual(patch);
  expectSelection(patch, ids, before);
}

/** Every other hunk and all the rest can be taken back. */
function expectSelection(patch: Patch, ids: readonly string[], before: string): void {
  if (ids.length < 2) return;
  const some = selectHunks(
    patch,
    ids.filter((_, i) => i % 2 === 0),
  );
  const others = selectHunks(
    patch,
    ids.filter((_, i) => i % 2 === 1),
  );
  const half = applied(some, before);
  expect(applied(invertPatch(some), half)).toBe(before);
  expect(applied(invertPatch(others), applied(others, before))).toBe(before);
}
