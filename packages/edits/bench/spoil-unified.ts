import type { FilePatch, Hunk } from "../src/patch.js";
import { formatPatch } from "../src/unified/parse.js";
import type { Random } from "../test/random.js";
import {
  isInside,
  type Meant,
  mapLines,
  mistype,
  padLines,
  pickContext,
  replay,
  type Spoil,
  type Spoils,
} from "./spoil.js";
import { addTwin, doubleLine, hideLine, turnContext } from "./spoil-meaning.js";
import { addFence, addSecondPlace, flatten, mixEnds } from "./spoil-places.js";

const git = ({ path }: Meant) => `diff --git a/${path} b/${path}\nindex 1111111..2222222 100644\n`;
const format = (file: FilePatch) => formatPatch({ files: [file] });
const isOld = (line: string) => line[0] !== "+";

/** A spoilt diff of the text as it was. */
function diff(write: (file: FilePatch, dice: Random, meant: Meant) => string | null): Spoil {
  return (meant, dice) => {
    const input = write(meant.file, dice, meant);
    return input === null || input === format(meant.file) ? null : { text: meant.before, input, expected: meant.after };
  };
}

function headers(replace: (hunk: Hunk, dice: Random) => string): Spoil {
  return diff((file, dice) => {
    let i = 0;
    return format(file).replace(/^@@ .*?@@.*$/gm, () => replace(file.hunks[i++]!, dice));
  });
}

const counts = ({ lines }: Hunk) =>
  [lines.filter(isOld).length, lines.filter((line) => line[0] !== "-").length] as const;

function header(hunk: Hunk, moved: number, more = 0): string {
  const [old, now] = counts(hunk);
  const at = (start: number) => Math.max(1, start + moved);
  return `@@ -${at(hunk.oldStart!)},${Math.max(0, old + more)} +${at(hunk.newStart!)},${Math.max(0, now + more)} @@`;
}

const signed = (dice: Random, least: number, most: number) =>
  (dice.chance(0.5) ? 1 : -1) * (least + dice.below(most - least + 1));

const RULE = "=".repeat(67);
const svnLike = (old: string, now: string) => (path: string) =>
  `Index: ${path}\n${RULE}\n--- ${path}\t${old}\n+++ ${path}\t${now}\n`;

/** Headers of GNU diff, jsdiff, Subversion, Mercurial and gemini-cli. */
const HEADERS: readonly ((path: string) => string)[] = [
  (path) => `--- ${path}.orig\t2026-07-19 12:28:25.056182029 +0100\n+++ ${path}\t2026-07-19 12:28:13.036639136 +0100\n`,
  (path) =>
    `diff -u old/${path} new/${path}\n--- old/${path}\t2026-07-19 12:28:25 +0100\n+++ new/${path}\t2026-07-19 12:28:13 +0100\n`,
  (path) => `--- ${path}\tOriginal\n+++ ${path}\tOriginal\n`,
  svnLike("old", "new"),
  svnLike("(revision 3)", "(working copy)"),
  svnLike("Current", "Proposed"),
  (path) =>
    `diff -r 0123456789ab ${path}\n--- a/${path}\tSun Jul 19 12:28:25 2026 +0100\n+++ b/${path}\tSun Jul 19 12:28:13 2026 +0100\n`,
];

const recoverable: Record<string, Spoil> = {
  clean: (meant) => ({ text: meant.before, input: git(meant) + format(meant.file), expected: meant.after }),
  "without git header": (meant) => ({ text: meant.before, input: format(meant.file), expected: meant.after }),
  "start wrong by a few": headers((hunk, dice) => header(hunk, signed(dice, 1, 6))),
  "start wrong by hundreds": headers((hunk, dice) => header(hunk, signed(dice, 100, 600))),
  "start always 1": headers((hunk) => header({ ...hunk, oldStart: 1, newStart: 1 }, 0)),
  "counts too large": headers((hunk, dice) => header(hunk, 0, 1 + dice.below(3))),
  "counts too small": headers((hunk, dice) => header(hunk, 0, -1 - dice.below(3))),
  "@@ ... @@": headers(() => "@@ ... @@"),
  "@@ -XXX,XX +XXX,XX @@": headers(() => "@@ -XXX,XX +XXX,XX @@"),
  "blank context as empty line": diff((file) => format(file).replace(/^ $/gm, "")),
  "context without leading space": diff((file) => {
    const [head, ...hunks] = format(file).split(/^(?=@@ )/m);
    // A markdown fence at the start of a line would end the patch.
    return head + hunks.map((hunk) => hunk.replace(/^ (?=[^\s+\-\\@`~])/gm, "")).join("");
  }),
  "context without its markers": diff((file) => {
    const [head, ...hunks] = format(file).split(/^(?=@@ )/m);
    return head + hunks.map((hunk) => hunk.replace(/^ (?=[^+\-\\@`~])/gm, "")).join("");
  }),
  "last context line only": diff((file) => format({ ...file, hunks: file.hunks.map(lastContextOnly) })),
  "trailing white space stripped": (meant, dice) => {
    const lines = padLines(meant.before, meant.file, dice);
    if (lines.join("\n") === meant.before) return null;
    return { text: lines.join("\n"), input: format(meant.file), expected: replay(lines, meant.file.hunks) };
  },
  "no newline at the patch's end": diff((file) => format(file).replace(/\n$/, "")),
  "CRLF file, LF patch": (meant) => {
    if (meant.before.includes("\r")) return null;
    const [text, expected] = [meant.before, meant.after].map((each) => each.replaceAll("\n", "\r\n"));
    return { text: text!, input: format(meant.file), expected: expected! };
  },
  "mixed file, LF patch": (meant, dice) => {
    const mixed = mixEnds(meant, dice);
    return mixed && { ...mixed, input: format(meant.file) };
  },
  "mixed file, CRLF patch": (meant, dice) => {
    const mixed = mixEnds(meant, dice);
    return mixed && { ...mixed, input: format(meant.file).replaceAll("\n", "\r\n") };
  },
  "LF file, CRLF patch": diff((file) => (format(file).includes("\r") ? null : format(file).replaceAll("\n", "\r\n"))),
  "header of another tool": diff((file, dice, { path }) =>
    format(file).replace(/^---.*\n\+\+\+.*\n/, () => dice.pick(HEADERS)(path)),
  ),
  "no a/ b/": diff((file) => format(file).replace(/^(---|\+\+\+) [ab]\//gm, "$1 ")),
  "fenced in prose": diff(
    (file) =>
      `Here is the change you asked for:\n\n\`\`\`diff\n${format(file)}\`\`\`\n\nIt should now work. Run the tests to check.\n`,
  ),
  "a bare fence in a fence": (meant, dice) => {
    const fenced = addFence(meant, dice);
    const input = `The README needs this:\n\n\`\`\`diff\n${format(fenced.file)}\`\`\`\n\nThat is all.\n`;
    return { text: fenced.before, input, expected: fenced.after };
  },
  "file drifted by 30 lines": (meant) => {
    const front = Array.from({ length: 30 }, (_, i) => `// generated line ${i}\n`).join("");
    return { text: front + meant.before, input: format(meant.file), expected: front + meant.after };
  },
  "tabs as spaces": diff((file) => {
    if (!file.hunks.every(({ lines }) => lines.some((line) => isOld(line) && line.includes("\t")))) return null;
    return format(mapLines(file, (line) => line.replaceAll("\t", "    ")));
  }),
  "one context line skipped": diff((file, dice) => {
    const skipped = pickContext(file, dice, (line, i, lines) => line.trim() !== "" && isInside(i, lines));
    return (
      skipped && format(mapLines(file, (line, i, hunk) => (hunk === skipped.hunk && i === skipped.i ? null : line)))
    );
  }),
  "a blank context line skipped": diff((file, dice) => {
    const blank = pickContext(file, dice, (line, i, lines) => line === "" && isInside(i, lines));
    return blank && format(mapLines(file, (line, i, hunk) => (hunk === blank.hunk && i === blank.i ? null : line)));
  }),
  "a typo in a context line": diff((file, dice) => {
    const chosen = pickContext(file, dice, (line) => /[a-z]{4}/.test(line));
    const wrong = (line: string) => line[0] + mistype(line.slice(1), dice);
    return (
      chosen && format(mapLines(file, (line, i, hunk) => (hunk === chosen.hunk && i === chosen.i ? wrong(line) : line)))
    );
  }),
  "hunks out of order": diff((file) =>
    file.hunks.length < 2 ? null : format({ ...file, hunks: [...file.hunks].reverse() }),
  ),
};

/** One line of context before the change, or behind it where none is before. */
function lastContextOnly(hunk: Hunk): Hunk {
  const first = hunk.lines.findIndex((line) => line[0] !== " ");
  const last = hunk.lines.findLastIndex((line) => line[0] !== " ");
  const from = Math.max(0, first - 1);
  const lines = hunk.lines.slice(from, last + (first === 0 ? 2 : 1));
  return { ...hunk, lines, oldStart: hunk.oldStart! + from, newStart: hunk.newStart! + from };
}

const refusals: Record<string, Spoil> = {
  "already applied": (meant) => ({ text: meant.after, input: format(meant.file), expected: null }),
  "already applied, with a twin elsewhere": (meant, dice) => {
    // Without something new, or lines on both sides of what is gone, nothing shows that it is applied.
    const isTelling = ({ lines }: Hunk) =>
      lines.some((line) => /^\+\s*\S/.test(line)) || (/^ .*\S/.test(lines[0]!) && /^ .*\S/.test(lines.at(-1)!));
    if (!meant.file.hunks.every(isTelling)) return null;
    return { text: addTwin(meant, dice), input: format(meant.file), expected: null };
  },
  "context of another meaning": (meant, dice) => {
    const file = turnContext(meant.file, dice, meant);
    return file && { text: meant.before, input: format(file), expected: null };
  },
  "a line beside an insertion stands twice": (meant) => {
    const doubled = doubleLine(meant);
    return doubled && { text: doubled.text, input: format({ ...meant.file, hunks: [doubled.hunk] }), expected: null };
  },
  "an item behind a replaced one is left out": (meant, dice) => {
    const hidden = hideLine(meant, dice, "item");
    return hidden && { text: hidden.text, input: format({ ...meant.file, hunks: [hidden.hunk] }), expected: null };
  },
  "the section stands behind the place": (meant) => {
    const lines = meant.before.split("\n");
    const last = meant.file.hunks.at(-1)!;
    const row = last.oldStart! - 1 + last.lines.filter(isOld).length;
    const isOnce = (line: string) => lines.filter((each) => each.trim().startsWith(line.trim())).length === 1;
    const behind = lines.slice(row).find((line) => /^\w.{6}/.test(line) && isOnce(line));
    const hunks = meant.file.hunks.map((hunk) => ({ ...hunk, section: behind! }));
    return behind === undefined
      ? null
      : { text: meant.before, input: format({ ...meant.file, hunks }), expected: null };
  },
  "another file's patch": (meant, _, other) => {
    const isThere = ({ lines }: Hunk) =>
      other.before.includes(
        lines
          .filter(isOld)
          .map((line) => line.slice(1))
          .join("\n"),
      );
    if (meant.file.hunks.every(isThere)) return null;
    return {
      text: other.before,
      input: format({ ...meant.file, before: other.path, after: other.path }),
      expected: null,
    };
  },
  "a deleted line's text is wrong": (meant, dice) => {
    const hunk = dice.pick(meant.file.hunks);
    const deleted = hunk.lines.flatMap((line, i) => (line[0] === "-" && /\w{3}/.test(line) ? [i] : []));
    if (deleted.length === 0) return null;
    const at = dice.pick(deleted);
    const wrong = hunk.lines[at]!.replace(/\w{3,}/, (word) =>
      dice.pick([`${word}X`, `old${word}`, word.slice(1), `${word}_2`]),
    );
    if (meant.before.split("\n").includes(wrong.slice(1))) return null;
    const file = mapLines(meant.file, (line, i, each) => (each === hunk && i === at ? wrong : line));
    return { text: meant.before, input: format(file), expected: null };
  },
};

/** Kinds where a refusal is as good as the right text. */
const either: Record<string, Spoil> = {
  "a context line left out where two places fit": (meant, dice) => {
    const made = addSecondPlace(meant, dice);
    if (!made) return null;
    const number = header(made.hunk, dice.pick([-2, -1, 0, 1, 2]));
    const input = format({ ...meant.file, hunks: [made.hunk] }).replace(/^@@ .*?@@/m, number);
    return { text: made.text, input, expected: made.expected };
  },
  "the same without numbers": (meant, dice) => {
    const made = addSecondPlace(meant, dice);
    if (!made) return null;
    const input = format({ ...meant.file, hunks: [made.hunk] }).replace(/^@@ .*?@@.*/m, "@@ ... @@");
    return { text: made.text, input, expected: made.expected };
  },
  "an insertion and its context one level out": diff((file, dice, meant) => {
    const flat = flatten(file, dice, meant);
    return flat && format(flat);
  }),
};

export const unifiedSpoils: Spoils = { recoverable, either, refusals };
