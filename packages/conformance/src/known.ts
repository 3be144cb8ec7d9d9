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

  add(text: string, instead: string): void {
    if (text.length < SHORTEST) return;
    const head = text.slice(0, SHORTEST);
    const others = this.#byHead.get(head) ?? [];
    if (others.some((one) => one.text === text)) return;
    if (others.length === 0) this.#marks[markAt(head, 0)]!++;
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
      this.#marks[markAt(head, 0)]!--;
    }
  }

  replace(text: string): string {
    if (this.#byHead.size === 0) return text;
    let replaced = "";
    let from = 0;
    for (let at = 0; at + SHORTEST <= text.length; at++) {
      if (this.#marks[markAt(text, at)] === 0) continue;
      const found = this.#byHead.get(text.slice(at, at + SHORTEST))?.find((one) => text.startsWith(one.text, at));
      if (!found) continue;
      replaced += text.slice(from, at) + found.instead;
      from = at + found.text.length;
      at = from - 1;
    }
    return from === 0 ? text : replaced + text.slice(from);
  }
}

function markAt(text: string, at: number): number {
  return (
    (((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 31 + text.charCodeAt(at + 4)) * 31 +
      text.charCodeAt(at + SHORTEST - 1)) &
    0xffff
  );
}
