import type { FilePatch } from "../patch.js";
import type { Reading, Repair } from "../reading.js";
import { quote } from "../reading.js";
import { asText, changeOf, create, modifyBy, takeOffGutter } from "./change.js";
import { indentOf, unindent } from "./fence.js";
import type { BlockText, Format, ReadOptions } from "./format.js";
import { lost, refuse, repair } from "./message.js";
import { parseWith } from "./reader.js";

const OPEN = /^[ \t]*(?:<{5,9}|-{5,9}) SEARCH>?\s*$/;
const CLOSE = /^[ \t]*(?:>{5,9}|\+{5,9}) REPLACE\s*$/;
const DIVIDER = /^[ \t]*={5,9}\s*$/;
const HINT = /^[ \t]*:(start|end)_line:[ \t]*(\d{1,9})\s*$/;
const RULE = /^[ \t]*-{5,9}\s*$/;
/** A quick check: few lines may be a marker of the block or of a conflict of git. */
const MARK = /^[ \t]*[<=>+-]/;
/** A marker that is misspelt, or stands alone. In the labels of git's conflicts nobody shouts, or a name goes on. */
const LOST =
  /^(?:(?:<|&lt;){3,} ?(?:SEARCH|[Ss]earch|ORIGINAL)(?![-/.\w])|(?:>|&gt;){3,} ?(?:REPLACE|[Rr]eplace|UPDATED)(?![-/.\w])|(?:-{4,} ?SEARCH|\+{4,} ?REPLACE)[>:]?\s*$)/;
/** A marker that belongs to the content is written with a backslash before it. */
const ESCAPED = /^\\(?=\\*(?:[<>+-]{5,9} (?:SEARCH|REPLACE)>?|={5,9}|-{5,9}|:(?:start|end)_line:[ \t]*\d+)\s*$)/;

/**
 * SEARCH/REPLACE blocks: aider's (`<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`), those with dashes (`------- SEARCH`,
 * `+++++++ REPLACE`), and those with a line hint (`:start_line:10` and `-------` below the marker). The path stands above
 * the fence, in it, or is that of the block before. An empty SEARCH part without a line hint creates the file.
 */
export const searchReplace: Format = {
  name: "search-replace",
  findLost: (line, _, written) =>
    LOST.test(line) ? lost(written, "write <<<<<<< SEARCH, ======= and >>>>>>> REPLACE, each alone on its line") : null,
  open({ line, path, innerPath, previousPath, defaultPath }) {
    if (!OPEN.test(line)) return null;
    const divider = dividerOf(line);
    const about = innerPath ?? path ?? previousPath ?? defaultPath;
    let isNew = false;
    let isConflict = false;
    return {
      path: about,
      take(line, isOpening) {
        if (!MARK.test(line)) return "more";
        return CLOSE.test(line) ? "last" : OPEN.test(line) && !isOpening ? "past" : "more";
      },
      show(line, row) {
        if (isNew) return CLOSE.test(line) ? null : withoutShield(line);
        // A conflict of git in the old text has a divider of its own.
        isConflict = row > 0 && (isConflict ? !line.startsWith(">>>>>>> ") : line.startsWith("<<<<<<< "));
        isNew = !isConflict && line.startsWith(divider) && line.trimEnd() === divider;
        return null;
      },
      read: (written) => readBlock(written, about),
    };
  },
};

function readBlock({ lines, start, repairs }: BlockText, path: string | null): FilePatch[] {
  const last = lines.length - 1;
  if (!CLOSE.test(lines[last]!)) refuse(last, "unfinished");
  if (path === null) return refuse(start, "no-path");
  const divided = findDivider(lines, start, repairs);
  let from = start + 1;
  let hint: number | null = null;
  for (let match = HINT.exec(lines[from]!); match !== null; match = HINT.exec(lines[++from]!))
    if (match[1] === "start") hint ??= Math.max(1, Number(match[2]));
  if (hint !== null && RULE.test(lines[from]!)) from++;
  refuseHints(lines.slice(from, divided), lines.slice(divided + 1, last), divided + 1, hint !== null);
  const indent = sharedIndent(lines, start, repairs);
  const part = (begin: number, end: number) =>
    lines.slice(begin, end).map((line) => withoutShield(unindent(line, indent)));
  const bare = takeOffGutter(part(from, divided), part(divided + 1, last), repairs, start, hint);
  const old = asText(bare.old);
  const now = asText(bare.now);
  if (old === "" && now !== "" && hint === null) return [create(path, now)];
  return modifyBy(path, changeOf(old, now, hint ?? bare.start), repairs, start);
}

function withoutShield(line: string): string {
  return line[0] === "\\" ? line.replace(ESCAPED, "") : line;
}

/** A line hint and its rule belong to the old text; in the new text they would end up in the file. */
function refuseHints(old: readonly string[], now: readonly string[], row: number, hinted: boolean): void {
  const isRule = (line: string) => RULE.test(line);
  const more = hinted && now.filter(isRule).length > old.filter(isRule).length;
  const found = now.findIndex(
    (line, i) => HINT.test(line) || (isRule(line) && (more || (i === 0 && !RULE.test(old[0] ?? "")))),
  );
  const advice = "in the new text; write a backslash before it if it is content";
  if (found >= 0) refuse(row + found, "bad-block", `${quote(now[found]!)} ${advice}`);
}

/** Where the parts are divided. A conflict of git in the content keeps its own divider; any other doubt is refused. */
function findDivider(lines: readonly string[], start: number, repairs: Repair[]): number {
  const end = lines.length - 1;
  const { found, inConflicts } = listDividers(lines, start + 1, end);
  if (found.length === 0) refuse(end, "bad-block", "no line ======= divides the old text from the new");
  const like = dividerOf(lines[start]!);
  const exact = found.filter((i) => lines[i]!.trimEnd() === like);
  const all = exact.length > 0 ? exact : found;
  const [divider, second] = all.length > 1 ? all.filter((i) => !inConflicts.has(i)) : all;
  if (divider === undefined || second !== undefined) return refuse(second ?? start, "ambiguous", SHIELD);
  if (exact.length === 0) repair(repairs, divider, "marker", quote(lines[divider]!));
  return divider;
}

const SHIELD = "write a backslash before each ======= that is content";

function listDividers(lines: readonly string[], start: number, end: number) {
  const found: number[] = [];
  const inConflicts = new Set<number>();
  let conflict: number[] | null = null;
  for (let i = start; i < end; i++) {
    const line = lines[i]!;
    if (!MARK.test(line)) continue;
    if (line.startsWith("<<<<<<< ")) conflict = [];
    else if (line.startsWith(">>>>>>> ")) {
      for (const row of conflict ?? []) inConflicts.add(row);
      conflict = null;
    } else if (DIVIDER.test(line)) {
      found.push(i);
      conflict?.push(i);
    }
  }
  return { found, inConflicts };
}

function dividerOf(open: string): string {
  const indent = indentOf(open);
  return indent + "=".repeat(open.indexOf(" SEARCH", indent.length) - indent.length);
}

function sharedIndent(lines: readonly string[], start: number, repairs: Repair[]): number {
  const indent = indentOf(lines[start]!);
  if (indent === "" || !lines.slice(start).every((line) => line.startsWith(indent) || line.trim() === "")) return 0;
  repair(repairs, start, "indented-block");
  return indent.length;
}

/** Reads every SEARCH/REPLACE block of a text into one patch; text around them is left out. Refuses the text if one is broken. */
export function parseSearchReplace(text: string, options: ReadOptions = {}): Reading {
  return parseWith([searchReplace], text, options);
}
