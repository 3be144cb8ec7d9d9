import { describe, expect, test } from "vitest";
import { dropFolders, parseGitNames, parseNameLine } from "../../src/unified/names.js";

describe("the name behind --- or +++", () => {
  test.each<[text: string, name: string | null | undefined, stamp?: string]>([
    ["a/x", "a/x"],
    ["a/x y", "a/x y"],
    ["a/x\t", "a/x"],
    ["a/x\t2024-01-01", "a/x", "2024-01-01"],
    ["a/x\t2024-01-01\tmore", "a/x", "2024-01-01\tmore"],
    ["a/x y\t2024-01-01 10:00:00", "a/x y", "2024-01-01 10:00:00"],
    ['"a/x"', "a/x"],
    ['"a/x"\t2024-01-01', "a/x", "2024-01-01"],
    ['"a/\\tx"\t2024-01-01', "a/\tx", "2024-01-01"],
    ['"a/x', undefined],
    ["/dev/null", null],
    ["/dev/null\t2024-01-01", null, "2024-01-01"],
    ["dev/null", "dev/null"],
    ["\t2024-01-01", "", "2024-01-01"],
  ])("%j", (text, name, stamp) => {
    expect(parseNameLine(text)).toEqual({ name, ...(name !== undefined && { stamp }) });
  });

  test.each<[stamp: string, isNone: boolean]>([
    ["1970-01-01 00:00:00 +0000", true],
    ["1970-01-01 00:00:00.000000000 +0000", true],
    ["1970-01-01 01:00:00 +0100", true],
    ["1970-01-01 05:30:00 +05:30", true],
    ["1969-12-31 19:00:00 -0500", true],
    ["1970-01-01 00:00:00", true],
    ["1970-01-01T00:00:00Z", true],
    ["1970-01-01 00:00:00 UTC", true],
    ["1970-01-01 00:00:00 GMT", true],
    ["Thu Jan  1 00:00:00 1970", true],
    ["Thu Jan  1 01:00:00 1970 +0100", true],
    ["1970-01-01 00:00:01 +0000", false],
    ["1970-01-01 00:00:00 +0100", false],
    ["1970-01-01 00:30:00 +0100", false],
    ["1970-01-02 00:00:00 +0000", false],
    ["1971-01-01 00:00:00 +0000", false],
    ["Thu Jan  1 00:00:00 1970 +0100", false],
    ["1970", false],
    ["in 1970 or so", false],
    [`1970-01-01 00:00:00${" ".repeat(61)}`, true],
    [`1970-01-01 00:00:00${" ".repeat(62)}`, false],
  ])("with the time %j is none: %j", (stamp, isNone) => {
    expect(parseNameLine(`a/x\t${stamp}`)).toEqual({ name: isNone ? null : "a/x", stamp });
  });

  test("ends before a time behind a blank, unless it is read as git reads it", () => {
    expect(parseNameLine("x 2024-01-01 10:00:00")).toEqual({ name: "x", stamp: "2024-01-01 10:00:00" });
    expect(parseNameLine("x 2024-01-01 10:00:00", true)).toEqual({ name: "x 2024-01-01 10:00:00" });
    expect(parseNameLine('"x y"\t2024 1')).toEqual({ name: "x y", stamp: "2024 1" });
  });
});

describe("the two names behind diff --git", () => {
  test.each<[text: string, before: string | null, after?: string]>([
    ["a/x b/x", "a/x", "b/x"],
    ["a/x b/y", "a/x", "b/y"],
    ["a/x y b/x y", "a/x y", "b/x y"],
    ["old/x y new/x y", "old/x y", "new/x y"],
    ["a/x y b/x z", null],
    ["a/x y b/x", null],
    ['"a/x y" "b/x y"', "a/x y", "b/x y"],
    ['"a/x" b/y', "a/x", "b/y"],
    ['a/x "b/y"', "a/x", "b/y"],
    ['a/x y "b/z"', "a/x y", "b/z"],
    [' "b/y z"', "", "b/y z"],
    ['"a/x b/y', null],
    ['a/x "b/y', null],
    ['"a/x" "b/y', null],
    ["a/x", null],
  ])("%j", (text, before, after) => {
    const names = parseGitNames(text);
    if (before === null) expect(names).toBeNull();
    else expect(names).toEqual({ before, after });
  });
});

test.each<[name: string, count: number, few: boolean, rest: string]>([
  ["a/b/c", 0, false, "a/b/c"],
  ["a/b/c", 1, false, "b/c"],
  ["a/b/c", 2, false, "c"],
  ["a/b/c", 3, false, ""],
  ["a/b/c", 3, true, "c"],
  ["a//b", 0, false, "a/b"],
  ["a//b///c", 1, false, "/b/c"],
  ["c", 1, false, ""],
  ["c", 1, true, "c"],
])("%j without %i folders is, where fewer are allowed (%j) or not, %j", (name, count, few, rest) => {
  expect(dropFolders(name, count, few)).toBe(rest);
});
