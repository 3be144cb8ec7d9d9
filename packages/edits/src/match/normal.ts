// Normal forms of lines that differ only in typing.

/** Converts quotes, dashes and spaces to their keyboard form. */
export function plainTypography(line: string): string {
  if (!/[^ -~\s]|[\u00a0\u2000-\u205f]/.test(line)) return line;
  return line
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f]/g, " ")
    .replaceAll("\u2026", "...");
}

/** A tab that a model wrote as backslash and t. */
export function plainTabs(line: string): string {
  return line.includes("\\t") ? line.replaceAll("\\t", "\t") : line;
}

/** White space at the ends is not compared, and inside a line a run of it counts as one space. */
export function looseLine(line: string): string {
  if (line === "") return line;
  const plain = plainTypography(line).trim();
  // Most lines have single spaces: replacing each by itself would make a new string.
  return /\t| {2}/.test(plain) ? plain.replace(/[ \t]+/g, " ") : plain;
}
