import type { ApplyOptions, LineRange } from "../match/aligner.js";
import { needApplyOptions, needRange } from "../match/options.js";
import { needOptions, needText } from "../need.js";
import type { NameRules } from "./names.js";
import type { RootOptions } from "./root.js";
import type { WaitOptions } from "./waiting.js";

interface Options extends RootOptions, WaitOptions {
  readonly rules?: NameRules;
  readonly preconditions?: Readonly<Record<string, string | null>>;
  readonly limit?: number;
  readonly apply?: ApplyOptions;
  readonly at?: Readonly<Record<string, LineRange>>;
}

/** Throws for a root, or an option, of another type, before anything is read or written. */
export function needRoot(root: string, options: Options): void {
  needText({ root });
  needOptions(options, {
    access: ["handles", "paths"],
    files: "object",
    wait: "number",
    clock: "object",
    rules: ["windows", "posix"],
    preconditions: "object",
    limit: "number",
    apply: "object",
    at: "object",
  });
  const { preconditions = {}, apply = {}, at = {} } = options;
  for (const path in preconditions) needOptions(preconditions, { [path]: "string or null" });
  needApplyOptions(apply);
  for (const path in at) {
    needOptions(at, { [path]: "object" });
    needRange(at[path]!);
  }
}
