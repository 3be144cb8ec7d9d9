/** The characters that a hunk's lines begin with. */
export const LINE_FEED = 10;
export const SPACE = 32;
export const PLUS = 43;
export const MINUS = 45;

/** A line of a header of git's or of a plain diff. */
export const HEADER_LINE =
  /^(?:index |old mode |new mode |deleted file |new file |similarity |dissimilarity |rename |copy |--- |\+\+\+ |Binary files |GIT binary |diff --git )/;

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

/** Whether `--- ` and `+++ ` stand here. Without git's header above them an `@@` line must follow: they may be deleted lines and prose. */
export function startsNames(lines: readonly string[], at: number): boolean {
  return (lines[at]?.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) ?? false;
}

/** Whether `--- `, `+++ ` and `@@` stand here: a file, and not a deleted line that starts with `-- `. */
export function startsFile(lines: readonly string[], at: number): boolean {
  return startsNames(lines, at) && (lines[at + 2]?.startsWith("@@") ?? false);
}

/** As git has it, in any language: a backslash, a blank, and ten characters at least. */
export function isNoNewline(line: string | undefined): boolean {
  return line?.startsWith("\\ ") === true && line.length > 10;
}
