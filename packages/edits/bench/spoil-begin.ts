import type { FilePatch, Hunk } from "../src/patch.js";
import type { Random } from "../test/random.js";
import {
  isInside,
  isSameChange,
  type Meant,
  mapLines,
  mistype,
  padLines,
  pickContext,
  rediff,
  replay,
  type Spoil,
  type Spoils,
} from "./spoil.js";
import { addTwin, doubleLine, enclosing, turnContext } from "./spoil-meaning.js";
import { addFence, addSecondPlace, flatten, mixEnds } from "./spoil-places.js";

/** A `*** Begin Patch` section of the hunks, each below the anchors that stand around it. */
function write({ path, before }: Meant, file: FilePatch, anchor = (anchors: string[], _: Hunk) => anchors): string {
  const hunks = file.hunks.map((hunk, i) => {
    // Of a hunk that was spoilt the place is that of the one it was made from.
    const heads = anchor(enclosing(before, hunk), file.hunks[i]!).map((line) => `@@ ${line}\n`);
    return `${heads.join("") || "@@\n"}${hunk.lines.join("\n")}\n`;
  });
  return `*** Begin Patch\n*** Update File: ${path}\n${hunks.join("")}*** End Patch\n`;
}

function section(spoil: (file: FilePatch, dice: Random, meant: Meant) => FilePatch | string | null): Spoil {
  return (meant, dice) => {
    const spoilt = spoil(meant.file, dice, meant);
    if (spoilt === null) return null;
    const isOther = (hunk: Hunk, i: number) => !isSameChange(hunk, meant.file.hunks[i]!);
    if (typeof spoilt !== "string" && spoilt.hunks.some(isOther)) return null;
    const input = typeof spoilt === "string" ? spoilt : write(meant, spoilt);
    return input === write(meant, meant.file) ? null : { text: meant.before, input, expected: meant.after };
  };
}

/** One line of context on each side of what is changed. */
function trim(hunk: Hunk): Hunk {
  const first = Math.max(0, hunk.lines.findIndex((line) => line[0] !== " ") - 1);
  const last = hunk.lines.findLastIndex((line) => line[0] !== " ") + 2;
  return { ...hunk, oldStart: hunk.oldStart! + first, lines: hunk.lines.slice(first, last) };
}

const recoverable: Record<string, Spoil> = {
  anchored: (meant) => ({ text: meant.before, input: write(meant, meant.file), expected: meant.after }),
  "anchors cut off": section((file, _, meant) =>
    write(meant, file, (anchors) => anchors.map((anchor) => anchor.replace(/(?<=\w)[^\w.].*$/, ""))),
  ),
  "only the innermost anchor": section((file, _, meant) => write(meant, file, (anchors) => anchors.slice(-1))),
  "no anchors": section((file, _, meant) => write(meant, file, () => [])),
  "one line of context": section((file) => ({ ...file, hunks: file.hunks.map(trim) })),
  "blank context as empty line": section((file, _, meant) => write(meant, file).replace(/^ $/gm, "")),
  "context without its markers": section((file, _, meant) => write(meant, file).replace(/^ (?=[^+\-\\@`~*])/gm, "")),
  "no End Patch in a fence": section(
    (file, _, meant) => `\`\`\`\n${write(meant, file).replace(/\*\*\* End Patch\n$/, "")}\`\`\`\n`,
  ),
  "CRLF file": (meant) => {
    if (meant.before.includes("\r")) return null;
    const [text, expected] = [meant.before, meant.after].map((each) => each.replaceAll("\n", "\r\n"));
    return { text: text!, input: write(meant, meant.file), expected: expected! };
  },
  "mixed file": (meant, dice) => {
    const mixed = mixEnds(meant, dice);
    return mixed && { ...mixed, input: write(meant, meant.file) };
  },
  "LF file, CRLF patch": section((file, _, meant) =>
    meant.before.includes("\r") ? null : write(meant, file).replaceAll("\n", "\r\n"),
  ),
  "a bare fence in a fence": (meant, dice) => {
    const fenced = addFence(meant, dice);
    return { text: fenced.before, input: `\`\`\`\n${write(fenced, fenced.file)}\`\`\`\n`, expected: fenced.after };
  },
  "file has trailing white space": (meant, dice) => {
    const lines = padLines(meant.before, meant.file, dice);
    if (lines.join("\n") === meant.before) return null;
    return { text: lines.join("\n"), input: write(meant, meant.file), expected: replay(lines, meant.file.hunks) };
  },
  "file drifted by 30 lines": (meant) => {
    const front = Array.from({ length: 30 }, (_, i) => `// generated line ${i}\n`).join("");
    return { text: front + meant.before, input: write(meant, meant.file), expected: front + meant.after };
  },
  "tabs as spaces": section((file) => {
    if (!file.hunks.every(({ lines }) => lines.some((line) => line[0] !== "+" && line.includes("\t")))) return null;
    const spoilt = mapLines(file, (line) => line.replaceAll("\t", "    "));
    // A hunk that changes nothing but tabs would say nothing any more.
    return spoilt.hunks.every((hunk) => rediff(hunk).lines.length > 0) ? spoilt : null;
  }),
  "one context line skipped": section((file, dice) => {
    const skipped = pickContext(file, dice, (line, i, lines) => line.trim() !== "" && isInside(i, lines));
    return skipped && mapLines(file, (line, i, hunk) => (hunk === skipped.hunk && i === skipped.i ? null : line));
  }),
  "a blank context line skipped": section((file, dice) => {
    const blank = pickContext(file, dice, (line, i, lines) => line === "" && isInside(i, lines));
    return blank && mapLines(file, (line, i, hunk) => (hunk === blank.hunk && i === blank.i ? null : line));
  }),
  "a typo in a context line": section((file, dice) => {
    const chosen = pickContext(file, dice, (line) => /[a-z]{4}/.test(line));
    const wrong = (line: string) => line[0] + mistype(line.slice(1), dice);
    return chosen && mapLines(file, (line, i, hunk) => (hunk === chosen.hunk && i === chosen.i ? wrong(line) : line));
  }),
};

const refusals: Record<string, Spoil> = {
  "already applied": (meant) => ({ text: meant.after, input: write(meant, meant.file), expected: null }),
  "already applied, with a twin below no anchor": (meant, dice) => {
    // A twin that has the anchor itself may be what is meant.
    const isBelow = (hunk: Hunk) => {
      const anchors = enclosing(meant.before, hunk);
      return anchors.length > 0 && !hunk.lines.some((line) => anchors.includes(line.slice(1).trim()));
    };
    if (!meant.file.hunks.every(isBelow)) return null;
    return { text: addTwin(meant, dice), input: write(meant, meant.file), expected: null };
  },
  "an anchor that is nowhere": (meant, dice) => {
    const chosen = dice.pick(meant.file.hunks);
    const input = write(meant, meant.file, (anchors, hunk) =>
      hunk === chosen ? ["function thatIsNowhere() {"] : anchors,
    );
    return { text: meant.before, input, expected: null };
  },
  "an anchor that stands behind the place": (meant, dice) => {
    const chosen = dice.pick(meant.file.hunks);
    const lines = meant.before.split("\n");
    const row = chosen.oldStart! - 1 + chosen.lines.filter((line) => line[0] !== "+").length;
    const isOnce = (line: string) => lines.filter((each) => each.trim().startsWith(line.trim())).length === 1;
    const behind = lines.slice(row).find((line) => /^\s*\w.{6}/.test(line) && isOnce(line));
    if (behind === undefined) return null;
    const input = write(meant, meant.file, (anchors, hunk) => (hunk === chosen ? [behind.trim()] : anchors));
    return { text: meant.before, input, expected: null };
  },
  "context of another meaning": (meant, dice) => {
    const file = turnContext(meant.file, dice, meant);
    return file && { text: meant.before, input: write(meant, file), expected: null };
  },
  "a line beside an insertion stands twice": (meant) => {
    const doubled = doubleLine(meant);
    return (
      doubled && { text: doubled.text, input: write(meant, { ...meant.file, hunks: [doubled.hunk] }), expected: null }
    );
  },
  "another file's patch": (meant, _, other) => {
    const isThere = ({ lines }: Hunk) =>
      other.before.includes(lines.flatMap((line) => (line[0] === "+" ? [] : [line.slice(1)])).join("\n"));
    if (meant.file.hunks.every(isThere)) return null;
    return { text: other.before, input: write(meant, meant.file), expected: null };
  },
};

/** Kinds where a refusal is as good as the right text. */
const either: Record<string, Spoil> = {
  "a context line left out where two places fit": (meant, dice) => {
    const made = addSecondPlace(meant, dice);
    if (!made) return null;
    const input = write({ ...meant, before: made.text }, { ...meant.file, hunks: [made.hunk] });
    return { text: made.text, input, expected: made.expected };
  },
  "an insertion and its context one level out": section(flatten),
};

export const beginSpoils: Spoils = { recoverable, either, refusals };
