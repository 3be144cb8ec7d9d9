import { createPatch, type FilePatch, invertPatch, mapPosition, type Patch } from "@parlance/edits";
import { expect, test } from "vitest";

// Two lines become three, one line goes, and one comes.
const patch = createPatch("a\nb\nc\nd\ne\nf\n", "a\nB\nC\nX\nd\nf\nnew\n");
const fileOf = ({ files }: Patch): FilePatch => files[0]!;
const map = (line: number, side?: -1 | 1) => {
  const { line: to, character, deleted } = mapPosition(fileOf(patch), { line, character: 1 }, side)!;
  return `${to}:${character}${deleted ? " deleted" : ""}`;
};

test.each([
  ["a kept line above all changes", 0, "0:1", "0:1"],
  ["the first line of a replacement", 1, "1:0 deleted", "4:0 deleted"],
  ["its last line", 2, "1:0 deleted", "4:0 deleted"],
  ["a kept line behind it", 3, "4:1", "4:1"],
  ["a line that goes", 4, "5:0 deleted", "5:0 deleted"],
  ["a kept line in front of one that comes", 5, "5:1", "5:1"],
  ["the end of the text", 6, "7:1", "7:1"],
] as const)("%s goes to its place, or to the edge of what replaces it", (_, line, start, end) => {
  expect([map(line), map(line, -1), map(line, 1)]).toEqual([start, start, end]);
});

test("a position that was kept comes back through the inverse", () => {
  const back = mapPosition(fileOf(invertPatch(patch)), { line: 4, character: 1 });
  expect(back).toEqual({ line: 3, character: 1, deleted: false });
});

test("no position is known where hunks have no numbers", () => {
  const [{ hunks, ...file }] = patch.files as readonly [FilePatch];
  const bare = { ...file, hunks: hunks.map((hunk) => ({ ...hunk, oldStart: null, newStart: null })) };
  expect(mapPosition(bare as FilePatch, { line: 0, character: 0 })).toBeNull();
});
