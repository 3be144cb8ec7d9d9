/** The characters that a hunk's lines begin with. */
export const LINE_FEED = 10;
export const SPACE = 32;
export const PLUS = 43;
export const MINUS = 45;

export function isMarked(line: string): boolean {
  const mark = line.charCodeAt(0);
  return mark === SPACE || mark === PLUS || mark === MINUS;
}

/** Whether the line is added or deleted, and no rule or signature of prose: `---`, `-- `, `+++`. */
export function isChanged(line: string): boolean {
  return /^[-+]/.test(line) && !/^(?:--+|\+{3})\s*$/.test(line);
}

/**
 * Whether a line with a mark behind a diff is an item of a list, and no line that the counts have missed: it follows prose,
 * or a blank line where the counts fit. A list has one kind of marks.
 */
export function isListed(line: string, before: string, prose: boolean, sure: boolean): boolean {
  return isItem(line) && (prose || (sure && before === "")) && !(isItem(before) && before[0] !== line[0]);
}

/** Whether the line may be an item of a list in prose; ` * ` behind the mark is a comment's. */
export function isItem(line: string): boolean {
  return /^[-+] (?!\* )\S/.test(line);
}
