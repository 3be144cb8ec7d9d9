import { describe, expect, test } from "vitest";
import { findElision, isElision, isProse } from "../src/elision.js";

describe("isElision", () => {
  test.each([
    ["dots alone", ["...", "....", "…", "  ...", "[...]", "(...)", " (...) "]],
    ["dots with words between them", ["… more …", "... rest ...", "... (the rest) ...", "...more..."]],
    ["a comment of dots", ["// ...", "# …", "# [...]", "<!-- ... -->", "/* ... */", "{/* ... */}", "-- ...", "; ..."]],
    ["a comment that begins with dots", ["// ... rest", "//...", "# ... unchanged", "// (... the rest)", "% ... 1"]],
  ])("accepts %s", (_, lines) => {
    for (const line of lines) expect([line, isElision(line)]).toEqual([line, true]);
  });

  test.each([
    ["code that begins with a sign", ["[abc]", "<div>", "(a, b)", "{ a }", "...rest", "  ...options,", "( ...", ".."]],
    ["dots with words behind them alone", ["... rest", "… more"]],
    ["a comment without dots", ["//", "# ", "// unchanged", "// rest of the function"]],
    ["a comment with dots elsewhere", ["// see ... below", "// Loading..."]],
    ["a comment behind code", ["x // ...", "pass  # ..."]],
  ])("refuses %s", (_, lines) => {
    for (const line of lines) expect([line, isElision(line)]).toEqual([line, false]);
  });

  test("refuses more than 120 characters", () => {
    const line = (length: number) => `// ...${"x".repeat(length - 6)}`;
    expect([isElision(line(120)), isElision(line(121))]).toEqual([true, false]);
  });
});

describe("the added line by which others would be lost", () => {
  test.each<[what: string, path: string, changes: string[], found: string | null]>([
    ["is a comment that stands for others", "a.js", ["-a", "+// ... rest"], "+// ... rest"],
    ["is the first of them", "a.js", ["-a", "+x", "+// ...", "+# ..."], "+// ..."],
    ["needs a deleted one", "a.js", [" a", "+// ..."], null],
    ["is in no old line as well", "a.js", ["-// ...", "+// ..."], null],
    ["is not in the context as well", "a.js", [" // ...", "-a", "+// ..."], null],
    ["is dots in code", "a.js", ["-a", "+..."], "+..."],
    ["is not dots in prose", "a.md", ["-a", "-b", "+..."], null],
    ["is dots with words in prose", "a.md", ["-a", "+... rest ..."], "+... rest ..."],
    ["is not the end of a YAML document", "a.yml", ["-a", "+..."], null],
    ["is not the last argument in C", "a.c", ["-  int a", "+  int a,", "+  ...", " )"], null],
    ["is not a body of a Python stub", "a.pyi", [" def f():", "-    pass", "+    ..."], null],
    ["is not a body below a new signature", "a.pyi", ["-def f():", "-    pass", "+def f():", "+    ..."], null],
    ["is dots for several lines of a stub", "a.pyi", ["-    x = 1", "-    y = 1", "+    ..."], "+    ..."],
    ["is dots with words in a stub", "a.pyi", ["-    x = 1", "+    # ... rest"], "+    # ... rest"],
    ["is dots in Python", "a.py", [" def f():", "-    pass", "+    ..."], "+    ..."],
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
