import { openFence } from "../read/fence.js";
import { isChanged, isListed } from "./diff.js";

/** Follows the text behind a diff, in which a changed line may be one of the diff that was lost. */
export class TextBehind {
  #above: string | null = null;
  /** There was prose, a fence, or the end of one. */
  #hasProse: boolean;
  #hasFence: boolean;
  #hasEnd: boolean;
  /** Changed lines are those of something else from here. */
  #isOver = false;
  /** The diff was complete, or a blank line follows it. */
  #isApart = false;

  constructor(isFenced: boolean) {
    this.#hasProse = this.#hasFence = this.#hasEnd = isFenced;
  }

  /** Takes the next line. `isSure`: the counts fit; `isHollow`: the last hunk changes nothing yet. Null where it is not meant. */
  take(line: string, isSure: boolean, isHollow: boolean): "item" | "line" | null {
    const isItem = !isHollow && isListed(line, this.#above ?? "x", this.#hasProse, isSure);
    const stray = isChanged(line) && (isHollow || !this.#isOver) ? (isItem ? "item" : "line") : null;
    this.#isApart ||= isSure || line.trim() === "";
    // Behind one space it may be context.
    const isFence = openFence(line) !== null && !/^ (?! )/.test(line);
    const opensOther = this.#isApart && this.#above !== null && !this.#hasFence;
    this.#isOver ||= line === "-- " || (isFence ? opensOther : this.#hasEnd && !/^[ +-]/.test(line));
    if (isFence) {
      this.#hasEnd ||= this.#hasFence;
      this.#hasFence = true;
    } else this.#hasProse ||= line.trim() !== "" && line[0] !== " ";
    this.#above = line;
    return stray;
  }
}
