import type { Repair } from "../reading.js";
import { refuse, repair } from "./message.js";

/** A line number and a bar in front of a line, as agents show files to models: `12 | `. */
const GUTTER = /^[ \t]*(\d{1,7}) ?\|(?: |\r?$)/;

/**
 * The lines of an edit without the gutter that a model has copied with them, and the number that stood in front of the first.
 * Certain only where every old line has one and the numbers go up by one: a file may have such lines itself. A single line
 * has to have the number of the block's line hint.
 */
export function takeOffGutter(
  old: readonly string[],
  now: readonly string[],
  repairs: Repair[],
  line: number,
  hint: number | null = null,
) {
  const numbers = old.map((each) => Number(GUTTER.exec(each)?.[1] ?? Number.NaN));
  if ((old.length < 2 && numbers[0] !== hint) || old.length === 0) return { old, now };
  if (!numbers.every((number, i) => number === numbers[0]! + i)) return { old, now };
  const without = (each: string) => each.replace(GUTTER, "");
  const marked = now.filter((each) => GUTTER.test(each)).length;
  if (marked > 0 && marked < now.length)
    refuse(line, "ambiguous", "some of the new lines begin with a line number and a bar; write all lines without");
  repair(repairs, line, "gutter");
  return { old: old.map(without), now: now.map(without), start: numbers[0]! };
}
