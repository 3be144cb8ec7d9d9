import { withoutReturn } from "../lines.js";
import type { Ladder } from "./ladder.js";
import { readSection } from "./section.js";
import { readEnds, writeEnd } from "./style.js";
import { asIs } from "./target.js";

export const trimmedEnd = (line: string) => line.trimEnd();

/** The rungs on which lines are equal but for their ends. */
export const plainLadder: Ladder = {
  steps: [
    ["exact", asIs, asIs],
    ["line-endings", withoutReturn, withoutReturn],
    ["trailing-space", trimmedEnd, trimmedEnd],
  ],
  learnStyle(pairs) {
    const ends = readEnds(pairs);
    return { repairs: [...ends.repairs], write: (line) => writeEnd(line, ends) };
  },
  readAddress: readSection,
};
