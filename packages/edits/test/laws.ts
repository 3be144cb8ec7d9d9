import { expect } from "vitest";
import {
  type ApplyResult,
  applyPatch,
  applyStrictly,
  composePatches,
  invertPatch,
  mapPosition,
  selectHunks,
} from "../src/index.js";
import type { FilePatch, Patch } from "../src/patch.js";
import { formatPatch, parsePatch } from "../src/unified/parse.js";

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
    const read = parsePatch(formatPatch(patch), { strict: true });
    expect(read).toEqual({ ok: true, patch, repairs: [] });
  }
  expect(selectHunks(patch, ids)).toEqual(patch);
  expectSelection(patch, ids, before, after);
  const there = composed(patch, inverse);
  expect(there.files.flatMap((file) => file.hunks)).toEqual([]);
  if (patch.files[0]) expectPositions(patch.files[0], inverse.files[0]!, before, after);
}

/** Every other hunk, and then the rest of them on top, is the whole patch. */
function expectSelection(patch: Patch, ids: readonly string[], before: string, after: string): void {
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
  expect(applied(composed(invertPatch(some), patch), half)).toBe(after);
  expect(applied(composed(invertPatch(others), some), applied(others, before))).toBe(half);
}

export function composed(first: Patch, second: Patch): Patch {
  const result = composePatches(first, second);
  if (!result.ok) expect.fail(`the patches do not compose: ${result.reason} at ${result.path}`);
  return result.patch;
}

/** Kept lines map there and back and hold the same text; the order of positions stays. */
function expectPositions(file: FilePatch, inverse: FilePatch, before: string, after: string): void {
  const old = before.split("\n");
  const now = after.split("\n");
  const step = Math.max(1, Math.floor(old.length / 200));
  let last = -1;
  for (let line = 0; line < old.length; line += step) {
    const position = { line, character: Math.min(2, old[line]!.length) };
    const mapped = mapPosition(file, position)!;
    expect(mapped.line).toBeGreaterThanOrEqual(last);
    last = mapped.line;
    if (mapped.deleted) continue;
    if (line < old.length - 1) expect(now[mapped.line]).toBe(old[line]);
    expect(mapPosition(inverse, mapped)).toEqual({ ...position, deleted: false });
  }
}
