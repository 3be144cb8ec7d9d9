import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { totals } from "@parlance/wire/scope";
import { expect, test } from "vitest";

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** The report of a run of the planted leaks, in a process of its own. */
function runLeaks(): Promise<Report> {
  const root = fileURLToPath(new URL("../../../../", import.meta.url));
  const args = ["run", "--reporter=json", "--config", "packages/server/test/at-rest/vitest.config.ts"];
  return new Promise((resolve, reject) => {
    const { VITEST: _, ...env } = process.env;
    execFile(
      process.execPath,
      [`${root}node_modules/vitest/vitest.mjs`, ...args],
      { cwd: root, env },
      (_, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout));
        } catch {
          reject(new Error(`no report: ${stdout}${stderr}`));
        }
      },
    );
  });
}

test("a test that leaves something held, or fails unseen, fails by the name of what it left; others do not", async () => {
  const { testResults } = await runLeaks();
  expect(testResults).toHaveLength(1);
  const { assertionResults, message } = testResults[0]!;
  const [clean, leaking] = ["clean: ", "leaks: "].map((kind) =>
    assertionResults.filter(({ title }) => title.startsWith(kind)),
  );
  expect(clean!.map(({ status }) => status)).toEqual(["passed", "passed", "passed"]);
  expect(leaking).toHaveLength(Object.keys(totals()).length + 3);
  for (const { title, status, failureMessages } of leaking!) {
    expect([title, status]).toEqual([title, "failed"]);
    expect(failureMessages.join("\n")).toContain(title.slice("leaks: ".length));
  }
  expect(message).toContain("1 asks");
});
