import { MAX_CONTENT } from "./bodies.js";
import type { Content, Entry } from "./recording.js";

// Texts that a recording leaves out. Nothing is known of them but their size, so no reader may take them for empty.

/** Whether the text of an entry was left out. */
export function isLeftOut(entry: Entry): boolean {
  return "size" in entry && entry.size !== undefined;
}

/** A text that was left out, in words. */
export function leftOutAs(content: Content): string {
  const why = reasonOf(content);
  return why === undefined ? `${content.size} bytes` : `${content.size} bytes, ${why}`;
}

/** Why a text was left out; undefined in a recording of metadata only, whose header says so. */
function reasonOf({ size = 0, encoding }: Content): string | undefined {
  if (encoding !== undefined) return `encoded: ${encoding}`;
  return size > MAX_CONTENT ? `over the limit of ${MAX_CONTENT}` : undefined;
}

/** How many texts were left out, by the reason. */
export class LeftOut {
  count = 0;
  readonly #reasons = new Map<string, number>();

  add(content: Content): void {
    const why = reasonOf(content) ?? "by their size only";
    this.count++;
    this.#reasons.set(why, (this.#reasons.get(why) ?? 0) + 1);
  }

  toJSON(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#reasons);
  }

  /** Such as "2 encoded: gzip, 1 over the limit of 16777216". */
  toString(): string {
    return [...this.#reasons].map(([why, count]) => `${count} ${why}`).join(", ");
  }
}
