import { expect, test } from "vitest";
import { writesInString } from "../../src/match/style.js";
import { takeApart } from "../../src/sides.js";

/** Whether a hunk of these lines, which all match, writes a line inside of a string. */
function isInString(lines: readonly string[]): boolean {
  const { old, deleted, changes } = takeApart({ id: "h", oldStart: null, newStart: null, lines });
  const pairs = old.map((patch, at) => ({ patch, text: patch, deleted: deleted[at]!, at }));
  return writesInString(pairs, changes);
}

test.each<[what: string, lines: string[], inString: boolean]>([
  ["between the quotes", [' x = """', "+y", ' """'], true],
  ["behind the opening quotes, where none close", [' x = """', "+y"], true],
  ["behind the closing quotes", [' x = """', " y", ' """', "+z"], false],
  ["behind quotes that close and open again", [' x = """', ` '"' """+"""`, "+y"], true],
  ["behind quotes that close further in than they open", [' """', ' yyyyyy"""', "+z"], false],
  ["below quotes that are deleted", ['-x = """', "+y"], false],
  ["in a here document, below its first line", [" cat <<EOF", " x", "+y", " EOF"], true],
  ["behind a here document", [" cat <<EOF", " x", " EOF", "+y"], false],
  ["in a template, with the word undefined", [" x = `", "+undefined", " `"], true],
  ["in a template above a comment", [" x = `", "+y", " `", " /* c */"], true],
])("a line is inside of a string or not: %s", (_, lines, inString) => {
  expect(isInString(lines)).toBe(inString);
});
