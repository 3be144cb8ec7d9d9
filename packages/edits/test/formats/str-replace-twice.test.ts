import { expect, test } from "vitest";
import { parseStrReplace } from "../../src/read/str-replace.js";

test.each<[string, string, string, boolean]>([
  ["a line and a part of another", "foo\nfoobar\n", "foo", false],
  ["two parts of lines", "a foo\nb foo\n", "foo", false],
  ["lines and the end of another", "a\nb\nxa\nb\n", "a\nb", false],
  ["one line", "foo\nbar\n", "foo", true],
  ["a part of one line", "a foo b\n", "foo", true],
])("An old string that stands in %s of the text is read only if it stands there once", (_, text, old, once) => {
  const reading = parseStrReplace({ path: "a", old_str: old, new_str: "new" }, { text });
  expect(reading).toMatchObject(once ? { ok: true } : { ok: false, errors: [{ reason: "ambiguous" }] });
});
