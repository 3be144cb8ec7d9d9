/** The `@@` line's two ranges; null where they cannot be read. */
export interface HunkHeader {
  readonly oldStart: number | null;
  readonly newStart: number | null;
  readonly oldCount: number | null;
  readonly newCount: number | null;
  readonly section: string | undefined;
  /** Written as the format has it. */
  readonly exact: boolean;
}

const LOOSE =
  /^@@ {0,9}-? {0,9}(\d{1,15})(?:, ?(\d{1,15}))?[ ,]{1,9}\+ {0,9}(\d{1,15})(?:, ?(\d{1,15}))?,? {0,9}(?:@@(.*))?$/s;

/** Reads `@@ -1,2 +3,4 @@ section`; null where the line is written otherwise. By hand: a regular expression was a fifth of the reading. */
function parseExact(line: string, text: string, start: number): HunkHeader | null {
  if (!line.startsWith("@@ -")) return null;
  const numbers = [-1, -1, -1, -1];
  let which = 0;
  let i = start + 4;
  for (; ; i++) {
    const code = text.charCodeAt(i);
    const number = numbers[which]!;
    if (code >= 48 && code <= 57 && number < 1e14) numbers[which] = Math.max(0, number) * 10 + code - 48;
    else if (number < 0) return null;
    else if (code === 44 /* , */ && which % 2 === 0) which++;
    else if (which < 2 && code === 32 && text.charCodeAt(i + 1) === 43 /* + */) {
      which = 2;
      i++;
    } else break;
  }
  if (which < 2 || !text.startsWith(" @@", i)) return null;
  const behind = text.charCodeAt(i + 3);
  const section = behind === 32 ? line.slice(i + 4 - start) : undefined;
  if (section === undefined && i + 3 !== start + line.length) return null;
  // A missing count is 1.
  const [oldStart, oldCount, newStart, newCount] = numbers as [number, number, number, number];
  return { oldStart, oldCount: Math.abs(oldCount), newStart, newCount: Math.abs(newCount), section, exact: true };
}

/**
 * Reads a line that starts with `@@`. Null where a line of the hunk is glued to it. `start` says where the line stands in a text that
 * it is a view of: to ask the text for a character is faster than to ask the line.
 */
export function parseHunkHeader(line: string, text = line, start = 0): HunkHeader | null {
  const exact = parseExact(line, text, start);
  if (exact !== null) return exact;
  const match = LOOSE.exec(line);
  const number = (group: number) => (match === null ? null : Number(match[group] ?? 1));
  const section = match === null ? line.replace(/^@@(.*?@@|(\s*\.\.\.$)?)/s, "") : (match[5] ?? "");
  if (match !== null && /^\S/.test(section)) return null;
  return {
    oldStart: number(1),
    oldCount: number(2),
    newStart: number(3),
    newCount: number(4),
    section: section.trim() || undefined,
    exact: false,
  };
}
