import { needOptions } from "../need.js";
import { rungs } from "../result.js";
import type { ApplyOptions, LineRange } from "./aligner.js";

export function needApplyOptions(options: ApplyOptions): void {
  needOptions(options, { loosest: rungs, at: "object" });
}

export function needRange(range: LineRange): void {
  needOptions(range, { line_start: "number", line_end: "number" });
}
