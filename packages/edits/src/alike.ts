const NAMES: Readonly<Record<string, string>> = {
  "\u00a0": " (no-break space)",
  "\u00ad": " (soft hyphen)",
  "\u200b": " (zero-width space)",
  "\ufeff": " (byte order mark)",
};
/** One character in so many may be another that looks the same. */
const EACH = 4;
/** Characters of a line that are compared. */
const LONGEST = 500;

/**
 * Names the character of a file's line that only looks like the one in the text sought, or is invisible: `has U+00A0
 * (no-break space) where the patch has U+0020`. Null where the line does not look like the text, or is equal to it.
 */
export function nameAlike(sought: string, line: string): string | null {
  const [wanted, there] = [sought, line].map((each) => [...each.trim().slice(0, LONGEST)]);
  for (const [one, other, who] of [
    [wanted!, there!, "the file"],
    [there!, wanted!, "the patch"],
  ] as const) {
    const hidden = other.filter((char) => isHidden(char) && !one.includes(char));
    const bare = other.filter((char) => !hidden.includes(char)).join("");
    if (hidden.length > 0 && (who === "the file" ? bare.includes(one.join("")) : one.join("").includes(bare)))
      return `${who} has ${nameOf(hidden[0]!)}, which cannot be seen`;
  }
  for (let from = 0; from + wanted!.length <= there!.length; from++) {
    const at = firstAlike(wanted!, there!, from);
    if (at >= 0) return `the file has ${nameOf(there![from + at]!)} where the patch has ${nameOf(wanted![at]!)}`;
  }
  return null;
}

/** Where the first character stands for which the file has one of another script; -1 where it has other text, or the same. */
function firstAlike(wanted: readonly string[], there: readonly string[], from: number): number {
  let first = -1;
  let left = wanted.length / EACH;
  for (let i = 0; i < wanted.length; i++) {
    const [own, other] = [wanted[i]!, there[from + i]!];
    if (own === other) continue;
    if (--left < 0 || isPlain(own) === isPlain(other) || isBlank(own) !== isBlank(other)) return -1;
    if (first < 0) first = i;
  }
  return first;
}

function isPlain(char: string): boolean {
  return char <= "~";
}

function isBlank(char: string): boolean {
  return /\s/u.test(char);
}

function isHidden(char: string): boolean {
  return /\p{Cf}/u.test(char);
}

function nameOf(char: string): string {
  const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return `U+${code}${NAMES[char] ?? ""}`;
}
