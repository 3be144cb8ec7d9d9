/** The minimum length of a secret that is searched for, in characters. */
export const SHORTEST = 8;

/**
 * Texts that are replaced everywhere. A position is compared only if its first characters may begin one, so thousands of
 * them cost no more than a few.
 */
export class Known {
  /** Texts by their first characters, the longest first: one may begin another. */
  readonly #byHead = new Map<string, { readonly text: string; readonly instead: string }[]>();
  /** The number of heads with each mark. */
  readonly #marks = new Uint16Array(1 << 16);
  /** How many heads begin with a text that is shorter than a head. */
  readonly #beginnings = new Map<string, number>();
  /** The length of the longest text so far. */
  #longest = 0;

  /** How many beginnings they have. */
  get size(): number {
    return this.#byHead.size;
  }

  add(text: string, instead: string): void {
    if (text.length < SHORTEST) return;
    const head = text.slice(0, SHORTEST);
    const others = this.#byHead.get(head) ?? [];
    if (others.some((one) => one.text === text)) return;
    if (others.length === 0) this.#count(head, 1);
    this.#longest = Math.max(this.#longest, text.length);
    this.#byHead.set(
      head,
      [...others, { text, instead }].sort((a, b) => b.text.length - a.text.length),
    );
  }

  /** Removes a text that has this replacement. */
  delete(text: string, instead: string): void {
    const head = text.slice(0, SHORTEST);
    const others = this.#byHead.get(head);
    const left = others?.filter((one) => one.text !== text || one.instead !== instead);
    if (!others || !left || left.length === others.length) return;
    if (left.length > 0) this.#byHead.set(head, left);
    else {
      this.#byHead.delete(head);
      this.#count(head, -1);
    }
  }

  /** The places of these texts, from left to right. */
  find(text: string): { readonly from: number; readonly to: number; readonly instead: string }[] {
    const all: { from: number; to: number; instead: string }[] = [];
    if (this.#byHead.size === 0) return all;
    for (let at = 0; at + SHORTEST <= text.length; at++) {
      if (this.#marks[markAt(text, at)] === 0) continue;
      const found = this.#byHead.get(text.slice(at, at + SHORTEST))?.find((one) => text.startsWith(one.text, at));
      if (!found) continue;
      all.push({ from: at, to: at + found.text.length, instead: found.instead });
      at += found.text.length - 1;
    }
    return all;
  }

  /** The position from which the end of a text begins one of these texts; the text's length if it begins none. */
  unfinished(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest + 1); at < text.length; at++) {
      const left = text.length - at;
      if (left < SHORTEST) {
        if (this.#beginnings.has(text.slice(at))) return at;
      } else if (this.#marks[markAt(text, at)] !== 0) {
        const rest = text.slice(at);
        if (this.#byHead.get(rest.slice(0, SHORTEST))?.some((one) => one.text.startsWith(rest))) return at;
      }
    }
    return text.length;
  }

  #count(head: string, by: 1 | -1): void {
    this.#marks[markAt(head, 0)]! += by;
    for (let length = 1; length < SHORTEST; length++) {
      const beginning = head.slice(0, length);
      const count = (this.#beginnings.get(beginning) ?? 0) + by;
      if (count === 0) this.#beginnings.delete(beginning);
      else this.#beginnings.set(beginning, count);
    }
  }
}

function markAt(text: string, at: number): number {
  return (
    (((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 31 + text.charCodeAt(at + 4)) * 31 +
      text.charCodeAt(at + SHORTEST - 1)) &
    0xffff
  );
}
