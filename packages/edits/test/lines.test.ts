import { expect, test } from "vitest";
import { commonEnds } from "../src/lines.js";

test.each<[a: string, b: string, head: number, tail: number]>([
  ["", "", 0, 0],
  ["", "a", 0, 0],
  ["abc", "abc", 3, 0],
  ["abc", "abd", 2, 0],
  ["abc", "xbc", 0, 2],
  ["abxcd", "abycd", 2, 2],
  ["abcd", "ad", 1, 1],
  ["aa", "aaa", 2, 0],
  ["aba", "aba aba", 3, 0],
  ["ab", "ba", 0, 0],
  ["xaax", "xax", 2, 1],
])("%j and %j have their beginnings in common, and behind those their ends, none of it twice", (a, b, head, tail) => {
  expect(commonEnds(a, b)).toEqual({ head, tail });
  expect(commonEnds(b, a)).toEqual({ head, tail });
  expect(commonEnds([...a], [...b])).toEqual({ head, tail });
});
