import { visibleLines } from "@parlance/wire/internal/escape";
import type { Report, Result } from "../result.js";

/** The form that CI systems read: a suite for each side, a test case for each case. */
export function junit({ contract, version, seed, results, ms }: Report): string {
  const sides = [...new Set(results.map(({ side }) => side))];
  const suites = sides.map((side) => {
    const own = results.filter((one) => one.side === side);
    const failures = own.filter(isFailure).length;
    const skipped = own.filter(isSkipped).length;
    const properties = Object.entries({
      contract: contract.name,
      digest: contract.digest,
      version,
      ...(seed !== undefined && { seed }),
    });
    return [
      `  <testsuite name="${escaped(`${contract.name} ${side}`)}" tests="${own.length}" failures="${failures}" skipped="${skipped}">`,
      "    <properties>",
      ...properties.map(([name, value]) => `      <property name="${name}" value="${escaped(String(value))}"/>`),
      "    </properties>",
      ...own.map(testCase),
      "  </testsuite>",
    ].join("\n");
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="parlance conform" tests="${results.length}" time="${ms / 1000}">\n${suites.join("\n")}\n</testsuites>\n`;
}

const isFailure = ({ outcome }: Result) => outcome === "failed" || outcome === "fixed";
const isSkipped = ({ outcome }: Result) => outcome === "skipped" || outcome === "known" || outcome === "flaky";

function testCase(result: Result): string {
  const { id, side, ms, outcome, expected = "", came = "", reason, title, at, trace = [], rerun } = result;
  const head = `    <testcase name="${escaped(id)}" classname="${side}" time="${ms / 1000}"`;
  if (isSkipped(result)) return `${head}><skipped message="${escaped(reason ?? outcome)}"/></testcase>`;
  if (!isFailure(result)) return `${head}/>`;
  const text = [
    `${title} (${at})`,
    `expected ${expected}`,
    `came ${came}`,
    ...trace.map(({ t, c, from, bytes }) => `${t} ms ${c} ${from}: ${bytes}`),
    ...(rerun === undefined ? [] : [rerun]),
  ];
  return `${head}><failure message="${escaped(`expected ${expected}, but came ${came}`)}">${escaped(text.join("\n"))}</failure></testcase>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
};

/** XML 1.0 has no control characters, however they are written, and no lone surrogates. */
function escaped(text: string): string {
  return visibleLines(text)
    .replace(/[&<>"\n]/g, (one) => ENTITIES[one]!)
    .replace(
      /[^\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu,
      (one) => `\\u${one.codePointAt(0)!.toString(16).padStart(4, "0")}`,
    );
}
