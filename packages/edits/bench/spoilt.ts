import { applyPatch } from "../src/apply.js";
import { parseBeginPatch } from "../src/read/begin-patch.js";
import { parseSearchReplace } from "../src/read/search-replace.js";
import { parseStrReplace } from "../src/read/str-replace.js";
import type { Reading } from "../src/reading.js";
import type { ApplyOptions, Rung } from "../src/result.js";
import { parsePatch } from "../src/unified/parse.js";
import { random } from "../test/random.js";
import type { SourcePair } from "./pairs.js";
import { chooseChange, type Meant, rediff, type Spoil, type Spoils, type SpoiltCase } from "./spoil.js";
import { beginSpoils } from "./spoil-begin.js";
import { blockSpoils, type Write } from "./spoil-blocks.js";
import { unifiedSpoils } from "./spoil-unified.js";

export const FORMATS = ["unified", "begin-patch", "search-replace", "str-replace", "str-replace with text"] as const;
export type FormatOfCase = (typeof FORMATS)[number];

/** The text that a program makes of a case, or null where it refuses. */
export type Program = (item: SpoiltCase) => string | null;

const writes: Record<"search-replace" | "str-replace", Write> = {
  "search-replace": (path, search, replace) =>
    `${path}\n\`\`\`\n<<<<<<< SEARCH\n${search}\n=======\n${replace === "" ? "" : `${replace}\n`}>>>>>>> REPLACE\n\`\`\`\n`,
  "str-replace": (path, old_str, new_str) => JSON.stringify({ command: "str_replace", path, old_str, new_str }),
};

const callSpoils = blockSpoils(writes["str-replace"], true);
const spoilsOf: Record<FormatOfCase, Spoils> = {
  unified: unifiedSpoils,
  "begin-patch": beginSpoils,
  "search-replace": blockSpoils(writes["search-replace"], false),
  "str-replace": callSpoils,
  "str-replace with text": callSpoils,
};

/** All cases of one format, the same ones for the same seed. A change that a kind cannot spoil gives none of that kind. */
export function makeCases(format: FormatOfCase, pairs: readonly SourcePair[], seed: number): SpoiltCase[] {
  const dice = random(seed);
  const isDiff = format === "unified" || format === "begin-patch";
  const changes = pairs.flatMap((pair) => {
    const meant = chooseChange(pair, dice, isDiff ? 5 : 1);
    if (!meant || !(isDiff || isOnce(meant))) return [];
    // A section keeps the lines that its own diff keeps, as in blocks.
    return format === "begin-patch"
      ? [{ ...meant, file: { ...meant.file, hunks: meant.file.hunks.map(rediff) } }]
      : [meant];
  });
  const { recoverable, either, refusals } = spoilsOf[format];
  const spoils = { ...recoverable, ...prefixed(either, EITHER), ...prefixed(refusals, REFUSE) };
  return Object.entries(spoils).flatMap(([kind, spoil]) =>
    changes.flatMap((meant, i) => {
      const spoilt = spoil(meant, dice, changes[(i * 7 + 3) % changes.length]!);
      return spoilt ? [{ kind, path: meant.path, ...spoilt }] : [];
    }),
  );
}

const REFUSE = "must refuse: ";
const EITHER = "may refuse: ";

function prefixed(spoils: Record<string, Spoil>, prefix: string): Record<string, Spoil> {
  return Object.fromEntries(Object.entries(spoils).map(([kind, spoil]) => [prefix + kind, spoil]));
}

/** Whether the text has the old lines once, if only as a part of lines: without numbers nothing else says which are meant. */
function isOnce({ before, file }: Meant): boolean {
  const old = file.hunks[0]!.lines.filter((line) => line[0] !== "+").map((line) => line.slice(1));
  return before.indexOf(old.join("\n")) === before.lastIndexOf(old.join("\n"));
}

const readers: Record<FormatOfCase, (item: SpoiltCase) => Reading> = {
  unified: ({ input }) => parsePatch(input),
  "begin-patch": ({ input }) => parseBeginPatch(input),
  "search-replace": ({ input, path }) => parseSearchReplace(input, { path }),
  "str-replace": ({ input, path }) => parseStrReplace(input, { path }),
  "str-replace with text": ({ input, path, text }) => parseStrReplace(input, { path, text }),
};

/** This package: its lenient reader, and the default ladder or another. `onApplied` receives the repairs of each hunk that is written. */
export function parlance(
  format: FormatOfCase,
  options?: ApplyOptions,
  onApplied?: (repairs: readonly Rung[]) => void,
): Program {
  return (item) => {
    const reading = readers[format](item);
    if (!reading.ok || reading.patch.files.length !== 1) return null;
    const result = applyPatch(reading.patch, item.text, options);
    if (!result.ok) return null;
    for (const { repairs } of result.hunks) onApplied?.(repairs);
    const { after } = reading.patch.files[0]!;
    return after === item.path ? result.text : `The text of ${after}.`;
  };
}

export interface Score {
  correct: number;
  refused: number;
  wrong: number;
}

/** By kind. Where a case must be refused, correct stays 0 and wrong is a violation. */
export function score(
  cases: readonly SpoiltCase[],
  program: Program,
  onWrong?: (item: SpoiltCase, made: string) => void,
) {
  const scores = new Map<string, Score>();
  for (const item of cases) {
    const tally = scores.get(item.kind) ?? { correct: 0, refused: 0, wrong: 0 };
    scores.set(item.kind, tally);
    const made = program(item);
    if (made === null) tally.refused++;
    else if (made === item.expected) tally.correct++;
    else {
      tally.wrong++;
      onWrong?.(item, made);
    }
  }
  return scores;
}

export function isRefusal(kind: string): boolean {
  return kind.startsWith(REFUSE);
}

export function isRecoverable(kind: string): boolean {
  return !isRefusal(kind) && !kind.startsWith(EITHER);
}
