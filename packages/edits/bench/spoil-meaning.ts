import type { FilePatch, Hunk } from "../src/patch.js";
import type { Random } from "../test/random.js";
import { type Meant, mapLines, pickContext } from "./spoil.js";

/** Slips of one or two characters after which a line means something else. */
const TURNS: readonly (readonly [RegExp, string])[] = [
  [/===/, "!=="],
  [/!==/, "==="],
  [/&&/, "||"],
  [/\|\|/, "&&"],
  [/ < /, " > "],
  [/ \+ /, " - "],
  [/\btrue\b/, "false"],
  [/\bfalse\b/, "true"],
  [/([1-8])/, "9"],
  [/\((?=[a-z])/, "(!"],
  [/(?<=\w)\.(?=[a-z])/, "?."],
];

/** A line of context that means something else by an operator, a digit or a truth; null where no line has one. */
export function turnContext(file: FilePatch, dice: Random, { before }: Meant): FilePatch | null {
  const lines = new Set(before.split("\n"));
  const turn = (line: string) => {
    // In a comment these are words among others.
    if (/\/\/|^\s*[*#]|\/\*/.test(line)) return null;
    for (const [right, wrong] of TURNS) {
      const turned = line.replace(right, wrong);
      if (turned !== line && !lines.has(turned)) return turned;
    }
    return null;
  };
  const chosen = pickContext(file, dice, (line) => turn(line) !== null);
  if (!chosen) return null;
  const wrong = ` ${turn(chosen.hunk.lines[chosen.i]!.slice(1))}`;
  return mapLines(file, (line, i, hunk) => (hunk === chosen.hunk && i === chosen.i ? wrong : line));
}

/** The text after the change, with the old lines of a hunk once more at its end. */
export function addTwin({ after, file }: Meant, dice: Random): string {
  const old = dice.pick(file.hunks).lines.flatMap((line) => (line[0] === "+" ? [] : [line.slice(1)]));
  const feed = after.endsWith("\n") ? "" : "\n";
  return `${after}${feed}// a twin of some lines\n${old.join("\n")}\n// that is all\n`;
}

/** The text with the line before a lone insertion twice, of which the hunk shows one; null where nothing is only inserted. */
export function doubleLine({ before, file }: Meant): { text: string; hunk: Hunk } | null {
  const isOld = (line: string) => line[0] !== "+";
  for (const hunk of file.hunks) {
    const first = hunk.lines.findIndex((line) => line[0] !== " ");
    const last = hunk.lines.findLastIndex((line) => line[0] !== " ");
    const isLone = hunk.lines.slice(first, last + 1).every((line) => line[0] === "+");
    const beside = hunk.lines[first - 1]?.slice(1) ?? "";
    if (!isLone || first < 2 || last === hunk.lines.length - 1 || beside.trim() === "") continue;
    const lines = before.split("\n");
    lines.splice(hunk.oldStart! - 1 + hunk.lines.slice(0, first).filter(isOld).length, 0, beside);
    return { text: lines.join("\n"), hunk };
  }
  return null;
}

/** Columns of white space in front, those of a comment's inner lines as of its first; null for a blank line. */
const indentOf = (line: string) => (line.trim() === "" ? null : /^\s*?(?=\S| \*)/.exec(line)![0].length);

/** The lines that a hunk stands below, outermost first: each the nearest that is indented less. At most two of them. */
export function enclosing(before: string, hunk: Hunk): string[] {
  const lines = before.split("\n");
  const first = hunk.lines.findIndex((line) => line[0] !== " ");
  let row = hunk.oldStart! - 1 + first;
  let indent = indentOf(lines[row] ?? "") ?? indentOf(hunk.lines[first]!.slice(1)) ?? 0;
  const found: string[] = [];
  while (--row >= 0 && indent > 0) {
    const own = indentOf(lines[row]!);
    if (own === null || own >= indent || !/^\s*[\w@$"'[#]/.test(lines[row]!)) continue;
    found.unshift(lines[row]!.trim());
    indent = own;
  }
  return found.slice(-2);
}

/**
 * A text with a line more behind one that is replaced by another, and a hunk that does not show it: a line that begins as the
 * new one does (`item`), or one that the replaced line is moved past (`moved`). Null where no one line is replaced by another.
 */
export function hideLine(
  { before, file }: Meant,
  dice: Random,
  kind: "item" | "moved",
): { text: string; hunk: Hunk } | null {
  const hunk = file.hunks[0]!;
  const at = hunk.lines.findIndex((_, i) => {
    const marks = [i - 1, i, i + 1, i + 2, i + 3].map((each) => hunk.lines[each]?.[0]).join("");
    return marks === " -+  " && [0, 1, 2, 3].every((each) => /\w{2}/.test(hunk.lines[i + each]!));
  });
  if (at < 0) return null;
  const [old, now, ...rest] = hunk.lines.slice(at) as [string, string, ...string[]];
  const lines = before.split("\n");
  const row = hunk.oldStart! - 1 + hunk.lines.slice(0, at).filter((line) => line[0] !== "+").length;
  const item = /^\W*\w*/.exec(now.slice(1))![0] + dice.pick([" other", ".other", "(other)"]);
  lines.splice(row + 1, 0, kind === "item" ? item : "hidden();");
  const moved = [...hunk.lines.slice(0, at), old, ...rest.slice(0, 2), `+${old.slice(1)}`, ...rest.slice(2)];
  return { text: lines.join("\n"), hunk: kind === "item" ? hunk : { ...hunk, lines: moved } };
}
