import { areWordyDots } from "../dots.js";
import { ordinals } from "../hunk.js";
import { isSamePath, listPaths } from "../mentions.js";
import { quote } from "../reading.js";
import { mend } from "./body.js";
import { takeDoubled, undouble } from "./doubled.js";
import { endByMarks, goesOn } from "./end.js";
import { closeFile } from "./file.js";
import { type Body, type Input, type Repairs, refuse, repair } from "./input.js";
import { HEADER, isChanged, isFence, isNoNewline, startsFile } from "./mark.js";
import { HARMLESS } from "./message.js";
import { dropFolder } from "./name.js";
import { tabOf } from "./stamp.js";

/** The repairs of lenient reading. */
export const repairs: Repairs = {
  sentences: HARMLESS,
  clean(source) {
    const text = source.startsWith("\ufeff") ? source.slice(1) : source;
    return text.includes("\n") ? text : text.replaceAll("\r", "\n");
  },
  undouble,
  openPath,
  foldersOf: (old, now) => (isPrefixed(old, now) ? 1 : 0),
  tabOf,
  takeAhead: takeDoubled,
  takeFenced,
  takeMarked: (input, header, created) => mend(input, endByMarks(input, input.at, header, created), created),
  goesOn,
  pass: leaveFile,
  check: refuseElisions,
};

/** A new line with words between dots would overwrite the lines that it stands for. */
function refuseElisions(input: Input): void {
  if (!/\.{3}|…/.test(input.text)) return;
  for (const { hunks } of input.files)
    for (const { lines } of hunks) {
      const dots = lines.filter((line) => areWordyDots(line.slice(1)));
      if (dots.length === 0 || dots.some((line) => line[0] !== "+") || !lines.some((line) => line[0] === "-")) continue;
      return refuse(input, Math.max(0, input.lines.indexOf(dots[0]!)), "ambiguous", quote(dots[0]!.slice(1)));
    }
}

/** Opens the file of hunks that have no header. */
function openPath(input: Input, path: string | undefined): void {
  const { at } = input;
  if (path === undefined || input.astray) return;
  repair(input, at, "missing-file-header", path);
  input.open = {
    file: { kind: "modify", before: path, after: path, hunks: [] },
    git: false,
    line: at,
    tellApart: ordinals(),
  };
}

/** Ends the file where a line of prose names another one. */
function leaveFile(input: Input, line: string): void {
  const path = input.open?.file.after ?? input.open?.file.before;
  if (path == null || isChanged(line) || HEADER.test(line) || listPaths(line).every((each) => isSamePath(each, path)))
    return;
  closeFile(input);
  input.astray = true;
}

/**
 * Takes the lines of a hunk in a markdown fence in which fences of the file have lost their leading space: while the counts
 * are open, such a line ends nothing. Only where the counts fit and the patch ends or goes on right behind them.
 */
function takeFenced(input: Input, oldCount: number, newCount: number): Body | null {
  const { lines, fence, at: from } = input;
  if (fence === 0) return null;
  let inner = false;
  let old = oldCount;
  let added = newCount;
  let end = from;
  for (; old > 0 || added > 0; end++) {
    const line = lines[end];
    if (line === undefined || line.startsWith("@@") || line.startsWith("diff --git ") || startsFile(lines, end))
      return null;
    inner ||= isFence(line, fence);
    if (isNoNewline(line)) continue;
    if (line[0] !== "+") old--;
    if (line[0] !== "-") added--;
  }
  let behind = end;
  while (lines[behind] === "") behind++;
  const next = lines[behind];
  const closed = next !== undefined && (isFence(next, fence) || /^(@@|diff --git )/.test(next));
  return inner && old === 0 && added === 0 && (closed || startsFile(lines, behind)) ? mend(input, end, false) : null;
}

/** Whether something was put in front of the names: `a/` and `b/`, or two folders that differ in front of the same path. */
function isPrefixed(old: string | null, now: string | null): boolean {
  if (old === null || now === null) return /^[abciow12]\/./.test(old ?? now ?? "");
  const differ = old !== now && old.includes("/") && now.includes("/") && dropFolder(old) === dropFolder(now);
  return differ || (/^[ab]\//.test(old) && /^[ab]\//.test(now));
}
