import { expect, test } from "vitest";
import { hashParts, hunkId, identifyHunks, lastLines } from "../src/hunk.js";

test("the id of a hunk depends on all its bytes", () => {
  // The first text that is hashed: the room for it has to grow.
  const long = "€".repeat(1999);
  expect(hunkId([`${long}a`])).not.toBe(hunkId([`${long}b`]));
});

test.each([9, 4_000, 12_000, 40_000])("a part of a text of %i characters has the hash of a hunk of it", (length) => {
  for (const char of ["x", "é", "€"]) {
    const text = `${char.repeat(length - 2)}yz`;
    const part = hashParts(text);
    for (const start of [0, 3, length - 2])
      expect(part(start, length), `${char} from ${start}`).toBe(hunkId([text.slice(start)]));
  }
});

test("equal hunks of one file are told apart by their order", () => {
  const hunk = { oldStart: null, newStart: null, lines: ["-a", "+b"] };
  const id = hunkId(hunk.lines);
  const other = { ...hunk, lines: ["-a+b"] };
  const ids = identifyHunks([hunk, other, hunk, hunk]).map((each) => each.id);
  expect(ids).toEqual([id, hunkId(other.lines), `${id}-2`, `${id}-3`]);
  expect(id).not.toBe(hunkId(other.lines));
});

test.each<[lines: string[], old: number, now: number]>([
  [["-+", "+-"], 0, 1],
  [["+-", "-+"], 1, 0],
  [["-a", "+b", " c", "+d"], 2, 3],
  [["+a"], -1, 0],
  [["-a"], 0, -1],
  [[], -1, -1],
])("the last lines of %j are found on both sides", (lines, old, now) => {
  expect(lastLines(lines)).toEqual({ old, new: now });
});

test.each<[lines: string[], id: string]>([
  [["-a", "+b"], "a4a93065c7bd"],
  [["-seven77"], "498d897a27e2"],
  [["-eight888"], "a1631d7480a5"],
  [["-a text of more than sixteen bytes", "+€ and é"], "9cdb0cefa3f1"],
  [Array.from({ length: 500 }, (_, i) => `+line ${i} of many`), "56662cf96e23"],
])("the id of a hunk stays the same from release to release, as patches that are stored have it", (lines, id) => {
  expect(hunkId(lines)).toBe(id);
});
