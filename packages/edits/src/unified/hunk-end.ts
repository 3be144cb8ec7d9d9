import { closesFence, type Fence } from "../read/fence.js";
import { isChanged, isItem, isMarked } from "./diff.js";
import type { HunkHeader } from "./hunk.js";

/** The most lines without a mark that may be held as context of a hunk behind its counts, outside of a fence. */
const MAX_BARE = 4;
const MAX_BLANK = 3;

interface Counts {
  old: number;
  new: number;
}

/**
 * Finds where the lines of a hunk end. While its counts are short, a marked line is the hunk's, and lines without a mark are
 * held until one follows or the counts are complete. Behind that, lines are the hunk's only where a changed line follows.
 */
export class HunkEnd {
  /** The lines that the counts still ask for; null where they cannot be read. */
  readonly #left: Counts | null;
  /** The same where an empty line that is none of the hunk's is behind each; null once a line had another behind it. */
  #doubled: (Counts & { first: boolean }) | null;
  readonly #fence: Fence | null;
  readonly #created: boolean;
  #taken = 0;
  /** An added or deleted line was taken. A hunk without one is not over: a line behind it may be its change. */
  changes = false;
  /** The index of the line behind a fence in the hunk that may have been the end of the block. */
  doubt: number | null = null;
  /** The lines that are held, and how many of them are the hunk's once it has ended. */
  held = 0;
  kept = 0;
  #blanks = 0;
  #firstBlank = -1;
  #isProse = false;
  #heldFence = -1;
  #hasGap = false;
  last = "";

  constructor(header: HunkHeader | null, fence: Fence | null, created: boolean) {
    const { oldCount = null, newCount = null } = header ?? {};
    const isCounted = oldCount !== null && newCount !== null;
    this.#left = isCounted ? { old: oldCount, new: newCount } : null;
    this.#doubled = isCounted ? { old: oldCount, new: newCount, first: true } : null;
    this.#fence = fence;
    this.#created = created;
  }

  get isCounted(): boolean {
    return this.#left !== null;
  }

  /** The counts ask for more lines. */
  get isOwed(): boolean {
    return owes(this.#isFitting ? this.#left : this.#doubled);
  }

  /** The counts are used up, and fit. */
  get isComplete(): boolean {
    const counts = this.#isFitting ? this.#left : this.#doubled;
    return counts !== null && counts.old === 0 && counts.new === 0;
  }

  /** Lines are held that are not the hunk's, and they are more than blank. */
  get hasProse(): boolean {
    return this.held > this.kept && (this.#isProse || this.held - this.#blanks > this.kept);
  }

  get #mayFollow(): boolean {
    return this.isOwed || owes(this.#doubled);
  }

  get #isFitting(): boolean {
    return this.#left !== null && this.#left.old >= 0 && this.#left.new >= 0;
  }

  get #room(): number {
    if (!this.#isFitting) return 0;
    const { old, new: added } = this.#left!;
    return this.#created ? added : Math.min(old, added);
  }

  take(line: string): "more" | "maybe" | "past" {
    const before = this.last;
    this.last = line;
    // The usual line: none is held before it, and the counts ask for it.
    if (this.#left !== null && this.held === 0 && this.#doubled === null && isMarked(line) && this.isOwed) {
      this.#taken++;
      this.changes ||= isChanged(line);
      count(this.#left, line);
      return "more";
    }
    if (line.startsWith("\\ ")) return this.#confirm(line);
    if (this.#fence !== null && closesFence(line, this.#fence, 0)) return this.#takeFence(line);
    if (this.#heldFence >= 0 && this.#isBehindFence(line)) return this.#past();
    if (isMarked(line)) return this.#takeMarked(line, before);
    return this.#mayFollow ? this.#takeBare(line) : this.#takeBehind(line);
  }

  #takeFence(line: string): "maybe" | "past" {
    if (this.#heldFence >= 0 || (this.#left !== null && !(this.isOwed && this.#isFitting))) return this.#past();
    this.#heldFence = this.held;
    return this.#hold(line);
  }

  #isBehindFence(line: string): boolean {
    if (isMarked(line)) return isItem(line);
    if (this.#left !== null) return line.trim() !== "";
    return this.#blanks > 0 || line.trim() === "" || this.held - this.#heldFence > MAX_BARE;
  }

  #takeMarked(line: string, before: string): "more" | "maybe" | "past" {
    const isBare = this.#fence === null;
    const mayBeItem = isBare && this.held > 0 && isItem(line) && !owes(this.#doubled);
    if (mayBeItem && (before.trim() === "" || this.#isProse || !this.isOwed)) return this.#past();
    if (this.#mayFollow || isChanged(line)) return this.#confirm(line);
    if (line[0] !== " " && isBare) return this.#past();
    return this.held === 0 || (!this.#isFitting && this.held === this.#blanks) ? this.#confirm(line) : this.#hold(line);
  }

  #takeBare(line: string): "more" | "maybe" | "past" {
    this.#hold(line);
    const counts = this.#left!;
    const isFull = counts.new === this.held && (this.#created || counts.old === this.held);
    const owesDoubled = this.#doubled !== null && !this.#doubled.first && owes(this.#doubled);
    if (isFull && this.#isFitting && this.#heldFence < 0 && !owesDoubled) return this.#confirm(null);
    if (this.#fence !== null || this.held <= this.#room + MAX_BARE) return "maybe";
    this.held--;
    return this.#past();
  }

  #takeBehind(line: string): "maybe" | "past" {
    const isBlank = line.trim() === "";
    const isFar = isBlank ? this.#blanks >= MAX_BLANK || this.held > this.#blanks : this.#blanks > 0;
    return this.#fence === null && (isFar || this.held > MAX_BARE) ? this.#past() : this.#hold(line);
  }

  #hold(line: string): "maybe" {
    if (line.trim() === "") {
      this.#blanks++;
      if (this.#firstBlank < 0) this.#firstBlank = this.held;
    } else if (this.#firstBlank >= 0 && this.#fence === null) this.#isProse = true;
    this.held++;
    return "maybe";
  }

  #confirm(line: string | null): "more" {
    const { held } = this;
    const isNote = line?.[0] === "\\";
    if (this.#heldFence >= 0) this.doubt ??= this.#taken + this.#heldFence + 1;
    if (this.#doubled !== null && !isNote) this.#followDoubled(this.#doubled);
    if (this.#left !== null) {
      if (!this.#created) this.#left.old -= held;
      this.#left.new -= held;
    }
    this.#taken += held + (line === null ? 0 : 1);
    this.held = this.kept = this.#blanks = 0;
    this.#firstBlank = this.#heldFence = -1;
    this.#isProse = false;
    if (line === null || isNote) return "more";
    this.changes ||= isChanged(line);
    if (this.#left !== null) count(this.#left, line);
    if (this.#doubled !== null) {
      count(this.#doubled, line);
      this.#doubled.first = false;
    }
    return "more";
  }

  /** One blank line is behind each of doubled lines, but for the last of a side that has no line feed at its end. */
  #followDoubled({ old, new: added, first }: Counts & { first: boolean }): void {
    const isGap = this.held === 1 && this.#blanks === 1;
    const isEnd = this.held === 0 && this.#hasGap && (old === 0 || added === 0);
    if (!first && !isGap && !isEnd) this.#doubled = null;
    else this.#hasGap ||= isGap && !first;
  }

  #past(): "past" {
    this.settle();
    return "past";
  }

  /** Ends the hunk behind the lines that are held. */
  settle(): void {
    const until = this.#heldFence >= 0 ? this.#heldFence : this.#isProse ? this.#firstBlank : this.held;
    const isFull = this.#isFitting && this.#left!.old === this.held && this.#left!.new === this.held;
    // The blank line behind the last of doubled lines.
    if (this.isComplete) this.kept = !this.#isFitting && this.#firstBlank === 0 ? 1 : 0;
    else if (isFull) this.kept = this.held;
    else if (this.#left !== null) this.kept = Math.min(until, this.#room);
    else this.kept = this.#fence === null || this.held === this.#blanks ? 0 : until;
  }
}

function count(counts: Counts, line: string): void {
  if (line[0] !== "+") counts.old--;
  if (line[0] !== "-") counts.new--;
}

function owes(counts: Counts | null): boolean {
  return counts !== null && (counts.old > 0 || counts.new > 0);
}
