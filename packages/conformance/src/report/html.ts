import { visibleLines } from "@parlance/wire/internal/escape";
import { formatTrace, type Report, type Result } from "../result.js";

/** One page without scripts: totals, and each case with what was expected and what came. */
export function html({ contract, version, totals, results, peers, ms, seed }: Report): string {
  const about = [
    ["Contract", `${contract.name} ${contract.digest}`],
    ["Version", version],
    ...Object.entries(peers),
    ...(seed === undefined ? [] : [["Seed", String(seed)]]),
    ["Time", `${(ms / 1000).toFixed(1)} s`],
    ...Object.entries(totals).map(([name, count]) => [name, String(count)]),
  ];
  const order = ["failed", "fixed", "flaky", "known", "skipped", "passed"];
  const sorted = [...results].sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(contract.name)}: conformance</title>
<style>
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
  pre { overflow: auto; white-space: pre-wrap; word-break: break-word; }
  td, th { text-align: left; padding: 0.1rem 1rem 0.1rem 0; vertical-align: top; white-space: pre-wrap; }
  summary b { display: inline-block; min-width: 5rem; }
</style>
<h1>${escaped(contract.name)}: conformance</h1>
<table>${about.map(([name, value]) => `<tr><th>${escaped(name!)}</th><td>${escaped(value!)}</td></tr>`).join("\n")}</table>
<h2>Cases</h2>
${sorted.map(entry).join("\n")}
</html>
`;
}

function entry(result: Result): string {
  const { id, outcome, level, title, at, kill, expected, came, reason, trace = [], rerun, ms } = result;
  const rows = [
    ["Expectation", title],
    ["Specified at", at],
    ["Level", level],
    ["Turned red by", kill],
    ["Time", `${ms} ms`],
    ...(reason === undefined ? [] : [["Reason", reason]]),
    ...(expected === undefined
      ? []
      : [
          ["Expected", expected],
          ["Came", came ?? ""],
        ]),
    ...(rerun === undefined ? [] : [["Again", rerun]]),
  ];
  const bytes = trace.length === 0 ? "" : `<pre>${escaped(trace.map(formatTrace).join("\n"))}</pre>`;
  const open = outcome === "failed" || outcome === "fixed" ? " open" : "";
  return `<details${open}><summary><b>${outcome}</b> ${escaped(id)}</summary><table>${rows
    .map(([name, value]) => `<tr><th>${name}</th><td>${escaped(value!)}</td></tr>`)
    .join("")}</table>${bytes}</details>`;
}

function escaped(text: string): string {
  return visibleLines(text).replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
}
