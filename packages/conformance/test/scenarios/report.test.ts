import { expect, test } from "vitest";
import { FORMATS } from "../../src/report/formats.js";
import { formatResult, type Report, type Result, totalsOf } from "../../src/result.js";

// Text of a peer in each report, which a terminal or a page would take for a command.

const hostile = "\u001b[2J\u0007\u009b31m\u202e\u2066\u2028\u007f\rpassed";
const result: Result = {
  id: `client/${hostile}`,
  side: "client",
  level: "must",
  title: hostile,
  at: hostile,
  kill: hostile,
  outcome: "failed",
  ms: 1,
  expected: hostile,
  came: `${hostile}\npassed client/send/cut/1`,
  reason: hostile,
  rerun: hostile,
  trace: [{ t: 1, c: 1, from: "peer", bytes: hostile }],
};
const report: Report = {
  suite: 1,
  contract: { name: hostile, digest: "sha256:0" },
  version: "1",
  peers: { client: hostile },
  ms: 1,
  totals: totalsOf([result]),
  results: [result],
};
const texts = { text: () => formatResult(result), ...FORMATS };

test.each(Object.entries(texts))("%s shows control characters and marks of direction, and sends none", (_, format) => {
  const text = format(report);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  expect(text).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/);
  expect(text).toContain("\\u202e");
});

test("a JSON report keeps the value, and a line end of a peer begins no line of the text", () => {
  expect(JSON.parse(FORMATS.json(report)).results).toEqual([result]);
  expect(formatResult(result)).not.toMatch(/^passed/m);
});
