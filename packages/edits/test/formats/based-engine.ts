/**
 * Replicas of the patch engine of real Based servers, from what is known of its behaviour: it goes by line numbers, takes lines
 * apart as Python's `splitlines` does, drops lines that look like file headers and checks no context. What is not known is
 * which lines exactly it takes for headers, and whether context comes from the diff or from the file: there is one engine
 * for each combination, and a diff is only right where all of them agree.
 */
export interface Engine {
  /** Lines that are dropped as file headers: above the first hunk, `---` with `+++` below it, or any. */
  readonly headers: "above" | "pairs" | "any";
  /** White space in front of a line is taken off before it is judged. */
  readonly stripped: boolean;
  readonly context: "diff" | "file";
}

export const engines: readonly Engine[] = (["above", "pairs", "any"] as const).flatMap((headers) =>
  [false, true].flatMap((stripped) => (["diff", "file"] as const).map((context) => ({ headers, stripped, context }))),
);

const RANGE = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n?$/;

/** The text that an engine makes of a file, or null where it reports an error. */
export function applyAsBased(text: string, diff: string, { headers, stripped, context }: Engine): string | null {
  const lines = splitLines(text);
  const patch = splitLines(diff);
  const out: string[] = [];
  let at = 0;
  let inHunk = false;
  for (let i = 0; i < patch.length; i++) {
    const line = patch[i]!;
    const judged = (which: number) => (stripped ? (patch[which]?.trimStart() ?? "") : (patch[which] ?? ""));
    const starts = (which: number, mark: string) => judged(which).startsWith(mark);
    const isHeader = starts(i, "---") || starts(i, "+++");
    const isPair = (starts(i, "---") && starts(i + 1, "+++")) || (starts(i, "+++") && starts(i - 1, "---"));
    if (isHeader && (!inHunk || headers === "any" || (headers === "pairs" && isPair))) continue;
    if (starts(i, "@@")) {
      const range = RANGE.exec(judged(i));
      if (range === null) return null;
      const start = Number(range[1]) - (range[2] === "0" ? 0 : 1);
      out.push(...lines.slice(at, start));
      at = start;
      inHunk = true;
    } else if (!inHunk) return null;
    else if (line[0] === "\\") chop(out, patch[i - 1]!);
    else if (line[0] === "+") out.push(line.slice(1));
    else {
      if (line[0] === " ") out.push(context === "diff" ? line.slice(1) : (lines[at] ?? ""));
      at++;
    }
  }
  return out.join("") + lines.slice(at).join("");
}

/** The line above has no line feed; of a deleted one nothing is left to take it from. */
function chop(out: string[], above: string): void {
  if (above[0] !== "-") out.push(out.pop()!.replace(/\n$/, ""));
}

// Beside the line feed: all that Python's `splitlines` splits at.
const ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029";
const LINE = new RegExp(`[^\n${ENDS}]*(?:\r\n|[\n${ENDS}])|[^]+?$`, "g");

/** The lines of a text with their ends, as Python sees them. */
function splitLines(text: string): string[] {
  return text.match(LINE) ?? [];
}
