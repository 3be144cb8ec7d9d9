import { expect, test } from "vitest";
import { parseSearchReplace } from "../../src/read/search-replace.js";

test.each<[what: string, block: string, start: number | null, lines: string[]]>([
  ["a rule without a hint", "-------\na\n=======\n-------\nb", null, [" -------", "-a", "+b"]],
  ["a hint without a rule", ":start_line:3\na\n=======\nb", 3, ["-a", "+b"]],
  ["a hint and its rule", ":start_line:3\n-------\na\n=======\nb", 3, ["-a", "+b"]],
  [
    "a hint, its rule and another",
    ":start_line:3\n-------\n-------\na\n=======\n-------\nb",
    3,
    [" -------", "-a", "+b"],
  ],
])("a rule of dashes is content unless it is the first below a line hint: %s", (_, block, oldStart, lines) => {
  const reading = parseSearchReplace(`f.js\n<<<<<<< SEARCH\n${block}\n>>>>>>> REPLACE\n`);
  expect(reading).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ oldStart, lines }] }] } });
});
