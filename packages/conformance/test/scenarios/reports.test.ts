import { expect, test } from "vitest";
import { FORMATS } from "../../src/report/formats.js";
import { formatResult, type Outcome, type Report, type Result, totalsOf } from "../../src/result.js";

// A run with each outcome on both sides, in each form of a report.

const about = { level: "must", title: 'a "title" & more', at: "contract.json#/a", kill: "alter-told" } as const;
const flaw = { expected: "<1>", came: "2\n3" };
const trace = [
  { t: 0.5, c: 1, from: "suite", bytes: "GET / HTTP/1.1\r\n\r\n" },
  { t: 12.25, c: 2, from: "peer", bytes: "x".repeat(320) },
] as const;
const results: readonly Result[] = [
  { ...about, id: "server/a/1", side: "server", outcome: "passed", ms: 1.5 },
  {
    ...about,
    id: "server/a/2",
    side: "server",
    outcome: "failed",
    ms: 2000,
    ...flaw,
    trace,
    rerun: "parlance conform",
  },
  { ...about, id: "server/a/3", side: "server", outcome: "skipped", ms: 0, reason: "is for live servers" },
  { ...about, id: "client/b/1", side: "client", outcome: "known", ms: 1, ...flaw, trace, reason: "issue 5" },
  { ...about, id: "client/b/2", side: "client", outcome: "known", ms: 1, ...flaw },
  { ...about, id: "client/b/3", side: "client", outcome: "fixed", ms: 1, ...flaw, rerun: "again" },
  { ...about, id: "client/b/4", side: "client", outcome: "flaky", ms: 1, ...flaw, reason: "slow" },
  { ...about, id: "client/b/5", side: "client", outcome: "failed", ms: 1, expected: "all", came: "\u{1f600}" },
];
const report: Report = {
  suite: 1,
  contract: { name: "fer<ry>", digest: "sha256:0" },
  version: "1.2.3",
  peers: { server: "http://a.test", client: "node client.mjs" },
  seed: 7,
  ms: 12_345,
  totals: totalsOf(results),
  results,
};

test.each(Object.entries(FORMATS))("the report in %s is as it is listed", async (name, format) => {
  await expect(format(report)).toMatchFileSnapshot(`../listed/report-${name}.txt`);
  const { seed, ...unseeded } = report;
  const without = format({ ...unseeded, results: [] });
  expect(without).not.toMatch(/seed/i);
});

test("a result for people is as it is listed", async () => {
  await expect(results.map(formatResult).join("\n")).toMatchFileSnapshot("../listed/report-text.txt");
});

test.each<Outcome>(["passed", "skipped", "known", "flaky", "failed", "fixed"])(
  "a case that is %s counts as that alone",
  (outcome) => {
    const totals = totalsOf([{ outcome } as Result]);
    expect(totals).toEqual({ passed: 0, failed: 0, skipped: 0, known: 0, fixed: 0, flaky: 0, [outcome]: 1 });
  },
);

test("a junit report has no lone surrogate, which XML cannot hold", () => {
  const [first] = results;
  const lone = { ...first!, outcome: "failed", expected: "all", came: "\ud800" } as const;
  expect(FORMATS.junit({ ...report, results: [lone] })).toContain("but came \\ud800");
});
