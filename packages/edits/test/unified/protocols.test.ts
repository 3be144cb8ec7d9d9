import { applyPatch, parsePatch } from "@parlance/edits";
import { describe, expect, it } from "vitest";

// The diffs that the protocols' documents print, as they print them. git apply, GNU patch and jsdiff 9 refuse all three.
const PRINTED = [
  {
    from: "agentsmithy, the diff event",
    diff: '--- a/src/example.py\n+++ b/src/example.py\n@@ -1,2 +1,4 @@\n-def old_function():\n-    return \'old\'\n+def improved_function():\n+    """Better function with documentation."""\n+    return \'improved\'',
    repairs: ["missing-final-newline:8", "wrong-count:3"],
    before: "def old_function():\n    return 'old'\n",
    after: 'def improved_function():\n    """Better function with documentation."""\n    return \'improved\'\n',
  },
  {
    from: "agentsmithy, the example stream",
    diff: '--- a/utils.py\n+++ b/utils.py\n@@ -1,2 +1,4 @@\n-def calc(x, y):\n-    return x + y\n+def calculate_sum(x: int, y: int) -> int:\n+    """Calculate the sum of two integers."""\n+    return x + y',
    repairs: ["missing-final-newline:8", "wrong-count:3"],
    before: "def calc(x, y):\n    return x + y\n",
    after:
      'def calculate_sum(x: int, y: int) -> int:\n    """Calculate the sum of two integers."""\n    return x + y\n',
  },
  {
    from: "loco, the patch format",
    diff: `--- a/src/auth/login.ts
+++ b/src/auth/login.ts
@@ -23,5 +23,8 @@ function login(username, password) {
-  return db.query('SELECT * FROM users WHERE name = ' + username);
+  if (!username || !password) {
+    throw new Error('Invalid credentials');
+  }
+  return db.query('SELECT * FROM users WHERE name = ?', [username]);
}
`,
    repairs: ["missing-space:9", "wrong-count:3"],
    before: `${"\n".repeat(21)}function login(username, password) {\n  return db.query('SELECT * FROM users WHERE name = ' + username);\n}\n`,
    after: `${"\n".repeat(21)}function login(username, password) {\n  if (!username || !password) {\n    throw new Error('Invalid credentials');\n  }\n  return db.query('SELECT * FROM users WHERE name = ?', [username]);\n}\n`,
  },
];

describe("The diffs printed in the protocols' documents", () => {
  for (const { from, diff, repairs, before, after } of PRINTED) {
    it(`are read with their repairs and apply: ${from}`, () => {
      const reading = parsePatch(diff);
      if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
      expect(reading.repairs.map(({ kind, line }) => `${kind}:${line}`)).toEqual(repairs);
      expect(applyPatch(reading.patch, before)).toMatchObject({ ok: true, text: after });
      expect(parsePatch(diff, { strict: true }).ok).toBe(false);
    });
  }
});
