import { visible, visibleLines } from "@parlance/wire/internal/escape";
import type { Report } from "../result.js";
import { html } from "./html.js";
import { junit } from "./junit.js";

export type Format = "json" | "ndjson" | "junit" | "html";

export const FORMATS: Readonly<Record<Format, (report: Report) => string>> = { json, ndjson, junit, html };

function json(report: Report): string {
  return `${visibleLines(JSON.stringify(report, null, 2))}\n`;
}

/** A line with the totals, and one for each case. */
function ndjson({ results, ...report }: Report): string {
  return [report, ...results].map((line) => `${visible(JSON.stringify(line))}\n`).join("");
}
