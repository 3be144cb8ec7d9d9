import { parsePatch } from "@parlance/edits";
import { expect, test } from "vitest";

test.each([
  ["a deleted", "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a/old"],
  ["a created", "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n", "b/new"],
])("the name of %s file with too few folders is in the error", (_, diff, name) => {
  const reading = parsePatch(diff, { strip: 5 });
  expect(reading).toMatchObject({ ok: false, errors: [{ message: expect.stringContaining(`takes off: "${name}"`) }] });
});
