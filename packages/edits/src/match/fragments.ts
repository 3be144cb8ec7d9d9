import type { FindFragments } from "./ladder.js";
import { lastUpTo } from "./sorted.js";
import { asIs, findRows } from "./target.js";

/** Lines of the longest hunk that is searched for. */
const LONGEST = 200;
/** Characters that the text is searched for, and places that one search looks at: at worst each costs as much as the whole. */
const SOUGHT = 200;
const LOOKS = 1000;

/** One row for each place. Two are enough to know that it is ambiguous. */
export const findFragments: FindFragments = (old, target) => {
  const { text, starts, lines } = target;
  if (old.length > LONGEST) return [];
  const sought = old.join("\n");
  if (sought.trim() === "") return [];
  if (old.length > 2) {
    // All lines but the first and the last are whole: to search the text for them takes time for each of their characters.
    const inner = findRows(old.slice(1, -1), asIs, asIs, target) ?? [];
    return inner
      .filter((row) => lines[row - 1]?.endsWith(old[0]!) && lines[row + old.length - 2]?.startsWith(old.at(-1)!))
      .map((row) => row - 1)
      .slice(0, 20);
  }
  const rows: number[] = [];
  const head = sought.slice(0, SOUGHT);
  for (let at = text.indexOf(head), looks = 0; at >= 0 && rows.length < 20 && looks < LOOKS; looks++) {
    const found = text.startsWith(sought, at);
    if (found) rows.push(lastUpTo(starts, at));
    at = text.indexOf(head, at + (found ? sought.length : 1));
  }
  return rows;
};
