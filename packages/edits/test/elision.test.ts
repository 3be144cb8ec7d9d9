import { describe, expect, test } from "vitest";
import { areDots, areWordyDots } from "../src/dots.js";
import { findElision, isElision, isProse } from "../src/elision.js";

describe("a line that stands for others", () => {
  test.each([
    ["dots", ["...", "....", "…", "  ...", "[...]"], true, false],
    [
      "dots in a comment",
      ["// ...", "# …", "<!-- ... -->", "/* ... */", "{/* ... */}", "-- ...", "; ...", "% ..."],
      true,
      false,
    ],
    ["dots with words", ["… more …", "... rest ...", "... (the rest) ...", "// ... rest"], true, true],
  ] as const)("has %s", (_, lines, dots, words) => {
    for (const line of lines)
      expect([line, isElision(line), areDots(line), areWordyDots(line)]).toEqual([line, true, dots, words]);
  });

  test.each([
    ["round brackets around dots", ["(...)", " (...) "]],
    ["a comment that says so", ["// unchanged", "#unchanged", "// [unchanged]", "// unchanged.", "// as is"]],
    ["such a comment of another language", ["/** unchanged */", "<!-- unchanged -->", "-- unchanged --"]],
    ["a comment that names a part", ["// other methods", "// the rest", "// keep the rest", "pass  # unchanged"]],
    ["a comment that nothing changes", ["// no changes", "// nothing else changes", "// code continues"]],
  ])("has %s, and no dots alone", (_, lines) => {
    for (const line of lines)
      expect([line, isElision(line), areDots(line), areWordyDots(line)]).toEqual([line, true, false, false]);
  });

  test.each([
    ["code that begins with a sign", ["[abc]", "<div>", "(a, b)", "{ a }", "...rest", "... rest", "( ...", ".."]],
    ["an empty comment", ["//", "// ", "# "]],
    ["a comment of too few words", ["// the", "// keep", "pass"]],
    ["a comment about the code", ["// other users", "// rest of the list"]],
    ["a comment behind code", ["x // unchanged", "x // ..."]],
    ["more than 120 characters", [`// ${"the ".repeat(30)}rest unchanged`]],
  ])("is not %s", (_, lines) => {
    for (const line of lines) expect([line, isElision(line)]).toEqual([line, false]);
  });

  test("has 120 characters at most", () => {
    const line = (length: number) => `// unchanged${" ".repeat(length - 12)}`;
    expect([isElision(line(120)), isElision(line(121))]).toEqual([true, false]);
  });
});

describe("the added line by which others would be lost", () => {
  const python = [" def f():", "-    x = 1"];
  test.each<[what: string, path: string, changes: string[], found: string | null]>([
    ["is a comment that stands for others", "a.js", ["-a", "+// unchanged"], "+// unchanged"],
    ["is the first of them", "a.js", ["-a", "+x", "+// unchanged", "+# unchanged"], "+// unchanged"],
    ["needs a deleted one", "a.js", [" a", "+// unchanged"], null],
    ["stands in no old line as well", "a.js", ["-// unchanged", "+// unchanged"], null],
    ["stands not in the context as well", "a.js", [" // unchanged", "-a", "+// unchanged"], null],
    ["is dots in code", "a.js", ["-a", "+..."], "+..."],
    ["is no dots in prose", "a.md", ["-a", "+..."], null],
    ["is dots with words in prose", "a.md", ["-a", "+... rest ..."], "+... rest ..."],
    ["is not the end of a document of YAML", "a.yml", ["-a", "+..."], null],
    ["is dots further in in YAML", "a.yaml", ["-a", "+  ..."], "+  ..."],
    ["is no stub of Python", "a.pyi", ["-a", "+..."], null],
    ["is no last argument of C", "a.c", ["-x", "+f(a,", "+...", "+)"], null],
    ["is no only argument of C", "a.c", ["-x", "+f(", "+...", "+)"], null],
    ["is no last argument beside deleted and blank lines", "a.c", [" f(a,", "-y", "+...", " ", " )"], null],
    ["is dots without a comma before them", "a.c", ["-x", "+f(a", "+...", "+)"], "+..."],
    ["is dots without a bracket behind them", "a.c", ["-x", "+f(a,", "+...", "+b"], "+..."],
    ["is dots at the end of C", "a.c", ["-x", "+f(a,", "+..."], "+..."],
    ["is dots at the start of C", "a.c", ["-x", "+...", "+)"], "+..."],
    ["is an argument of other languages", "a.js", ["-x", "+f(a,", "+...", "+)"], "+..."],
    ["is no body of Python for one that does nothing", "a.py", [" def f():", "-    pass", "+    ..."], null],
    [
      "is no body where its signature says so",
      "a.py",
      [" def f():", "-    raise NotImplementedError()", "+    ..."],
      null,
    ],
    ["is no body of Python behind its comment", "a.py", [' """', "-    pass", "+    ..."], null],
    ["is no prompt of Python", "a.py", [" >>> f()", "-pass", "+..."], null],
    ["is dots for a body of Python", "a.py", [...python, "+    ..."], "+    ..."],
    ["is dots behind a body of Python", "a.py", [...python, "+    y = 1", "+    ..."], "+    ..."],
    ["is no body for lines that stand further out", "a.py", [" def f():", "-x = 1", "+    ..."], null],
    ["is no body for lines of another change", "a.py", ["-    x = 1", " def f():", "+    ..."], null],
    ["is no body for lines of a change behind it", "a.py", [" def f():", "+    ...", " a", "-    x = 1"], null],
    ["is dots for lines behind them", "a.py", [" def f():", "+    ...", "-    x = 1"], "+    ..."],
    ["is dots behind a line that opens nothing", "a.py", [" x = 1", "-    pass", "+    ..."], "+    ..."],
  ])("%s", (_, path, changes, found) => {
    expect(findElision(changes, path)).toBe(found);
  });
});

test.each([
  ["a.md", true],
  ["a.MDX", true],
  ["a.markdown", true],
  ["a.rst", true],
  ["a.txt", true],
  ["README", true],
  ["x.y/README", true],
  ["x.y\\README", true],
  ["a.js", false],
  ["README/a.js", false],
  ["a.md.js", false],
  [".gitignore", false],
])("of the file %s it is known by its name whether it is prose", (path, prose) => {
  expect(isProse(path)).toBe(prose);
});
