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
  replay,
  type Spoil,
  type Spoils,
  withDots,
} from "./spoil.js";
import { doubleLine, hideLine, turnContext } from "./spoil-meaning.js";
import { addFence, addSecondPlace, flatten, mixEnds } from "./spoil-places.js";

/** A block's two parts as a model writes them; `write` puts them into SEARCH/REPLACE or into the arguments of a call. */
export type Write = (path: string, search: string, replace: string) => string;

const sideOf = ({ lines }: Hunk, own: string) =>
  lines.filter((line) => line[0] === " " || line[0] === own).map((line) => line.slice(1));

const SMART: readonly (readonly [RegExp, string])[] = [
  [/(^|[\s([{=,])"/gm, "$1\u201c"],
  [/"/g, "\u201d"],
  [/(^|[\s([{=,])'/gm, "$1\u2018"],
  [/'/g, "\u2019"],
];

const curl = (line: string) => SMART.reduce((text, [plain, smart]) => text.replace(plain, smart), line);

export function blockSpoils(write: Write, isCall: boolean): Spoils {
  const blockOf = ({ path }: Meant, hunk: Hunk, feed = "\n") =>
    write(path, sideOf(hunk, "-").join(feed), sideOf(hunk, "+").join(feed));

  /** A case of the text as it was; spoiling must have changed what is searched for. */
  const block =
    (spoil: (file: FilePatch, dice: Random, meant: Meant) => FilePatch | null): Spoil =>
    (meant, dice) => {
      const spoilt = spoil(meant.file, dice, meant)?.hunks[0];
      if (!spoilt || sideOf(spoilt, "-").join("\n") === sideOf(meant.file.hunks[0]!, "-").join("\n")) return null;
      // Lines that are still in the text, if only as parts of others, mean the same there.
      if (meant.before.includes(sideOf(spoilt, "-").join("\n"))) return null;
      if (!isSameChange(spoilt, meant.file.hunks[0]!)) return null;
      return { text: meant.before, input: blockOf(meant, spoilt), expected: meant.after };
    };
  const body = (change: (line: string) => string): Spoil =>
    block((file) => mapLines(file, (line) => line[0] + change(line.slice(1))));

  const dotted =
    (mark: "-" | "+"): Spoil =>
    (meant) => {
      const hunk = withDots(meant.file, mark)?.hunks[0];
      return hunk ? { text: meant.before, input: blockOf(meant, hunk), expected: null } : null;
    };

  const hidden = (meant: Meant, dice: Random, kind: "item" | "moved") => {
    const made = hideLine(meant, dice, kind);
    if (!made || made.text.includes(sideOf(made.hunk, "-").join("\n"))) return null;
    return { text: made.text, input: blockOf(meant, made.hunk), expected: null };
  };

  return {
    recoverable: {
      exact: (meant) => ({ text: meant.before, input: blockOf(meant, meant.file.hunks[0]!), expected: meant.after }),
      "file has trailing white space": (meant, dice) => {
        const lines = padLines(meant.before, meant.file, dice);
        if (lines.join("\n") === meant.before) return null;
        const expected = replay(lines, meant.file.hunks);
        return { text: lines.join("\n"), input: blockOf(meant, meant.file.hunks[0]!), expected };
      },
      "tabs as spaces": body((line) => line.replaceAll("\t", "    ")),
      "uniform dedent": block((file) => {
        const indents = file.hunks[0]!.lines.filter((line) => line.trim().length > 1).map(
          (line) => /^\s*/.exec(line.slice(1))![0],
        );
        const least = indents.reduce((a, b) => (a.length <= b.length ? a : b));
        if (least === "" || !indents.every((each) => each.startsWith(least))) return null;
        return mapLines(
          file,
          (line) => line[0] + (line.slice(1).startsWith(least) ? line.slice(1 + least.length) : line.slice(1)),
        );
      }),
      "leading blank line": block((file, dice, { before }) => {
        const hunk = file.hunks[0]!;
        // A blank line that is there is no slip; and a call means its line feed as it stands, so there both parts have it.
        if (before.split("\n")[hunk.oldStart! - 2] === "") return null;
        const lines = [isCall || dice.chance(0.5) ? " " : "-", ...hunk.lines];
        return { ...file, hunks: [{ ...hunk, lines }] };
      }),
      "two leading blank lines": block((file, dice, { before }) => {
        const hunk = file.hunks[0]!;
        if (before.split("\n")[hunk.oldStart! - 2] === "") return null;
        const mark = isCall || dice.chance(0.5) ? " " : "-";
        return { ...file, hunks: [{ ...hunk, lines: [mark, mark, ...hunk.lines] }] };
      }),
      "dropped blank context": block((file, dice) => {
        const blank = pickContext(file, dice, (line, i, lines) => line === "" && isInside(i, lines));
        return blank && mapLines(file, (line, i) => (i === blank.i ? null : line));
      }),
      "typo in context": block((file, dice) => {
        const chosen = pickContext(file, dice, (line) => /[a-z]{4}/.test(line));
        if (!chosen) return null;
        const wrong = mistype(chosen.hunk.lines[chosen.i]!.slice(1), dice);
        return mapLines(file, (line, i) => (i === chosen.i ? ` ${wrong}` : line));
      }),
      "skipped context line": block((file, dice) => {
        const skipped = pickContext(file, dice, (line, i, lines) => line.trim() !== "" && isInside(i, lines));
        return skipped && mapLines(file, (line, i) => (i === skipped.i ? null : line));
      }),
      "inner context as dots": block((file) => withDots(file, " ")),
      "smart quotes": body(curl),
      "CRLF file": (meant) => {
        const [text, expected] = [meant.before, meant.after].map((each) => each.replaceAll("\n", "\r\n"));
        if (meant.before.includes("\r")) return null;
        return { text: text!, input: blockOf(meant, meant.file.hunks[0]!), expected: expected! };
      },
      "mixed file": (meant, dice) => {
        const mixed = mixEnds(meant, dice);
        return mixed && { ...mixed, input: blockOf(meant, meant.file.hunks[0]!) };
      },
      "mixed file, CRLF block": (meant, dice) => {
        const mixed = mixEnds(meant, dice);
        return mixed && { ...mixed, input: blockOf(meant, meant.file.hunks[0]!, "\r\n") };
      },
      "LF file, CRLF block": (meant) => {
        if (meant.before.includes("\r")) return null;
        return { text: meant.before, input: blockOf(meant, meant.file.hunks[0]!, "\r\n"), expected: meant.after };
      },
      "a bare fence in a fence": (meant, dice) => {
        const fenced = addFence(meant, dice);
        return { text: fenced.before, input: blockOf(fenced, fenced.file.hunks[0]!), expected: fenced.after };
      },
      "escaped tabs": body((line) => line.replaceAll("\t", "\\t")),
    },
    either: {
      "a context line left out where two places fit": (meant, dice) => {
        const made = addSecondPlace(meant, dice);
        return made && { text: made.text, input: blockOf(meant, made.hunk), expected: made.expected };
      },
      "an insertion and its context one level out": block(flatten),
    },
    refusals: {
      ambiguous: (meant) => ({
        text: `${meant.before}\n${meant.before}`,
        input: blockOf(meant, meant.file.hunks[0]!),
        expected: null,
      }),
      "already applied": (meant) => ({
        text: meant.after,
        input: blockOf(meant, meant.file.hunks[0]!),
        expected: null,
      }),
      "hallucinated middle": (meant, dice) => {
        const chosen = pickContext(meant.file, dice, (line, i, lines) => line.trim() !== "" && isInside(i, lines));
        if (!chosen) return null;
        const invented = ` ${/^\s*/.exec(chosen.hunk.lines[chosen.i]!.slice(1))![0]}validateRequest(options, { strict: true });`;
        const file = mapLines(meant.file, (line, i) => (i === chosen.i ? invented : line));
        return { text: meant.before, input: blockOf(meant, file.hunks[0]!), expected: null };
      },
      "context of another meaning": (meant, dice) => {
        const hunk = turnContext(meant.file, dice, meant)?.hunks[0];
        if (!hunk || meant.before.includes(sideOf(hunk, "-").join("\n"))) return null;
        return { text: meant.before, input: blockOf(meant, hunk), expected: null };
      },
      "a line beside an insertion stands twice": (meant) => {
        const doubled = doubleLine(meant);
        if (!doubled || doubled.text.includes(sideOf(doubled.hunk, "-").join("\n"))) return null;
        return { text: doubled.text, input: blockOf(meant, doubled.hunk), expected: null };
      },
      "an item behind a replaced one is left out": (meant, dice) => hidden(meant, dice, "item"),
      "a line is moved past one that is left out": (meant, dice) => hidden(meant, dice, "moved"),
      "dots in the old part alone": dotted("-"),
      "dots in the new part alone": dotted("+"),
      "foreign block": (meant, _, other) => {
        const [hunk] = meant.file.hunks;
        if (other.before.includes(sideOf(hunk!, "-").join("\n"))) return null;
        return { text: other.before, input: blockOf(other, hunk!), expected: null };
      },
    },
  };
}
