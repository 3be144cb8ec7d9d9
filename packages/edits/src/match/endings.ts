import { withoutReturn } from "../lines.js";
import type { Hunk } from "../patch.js";

/** Converts hunks to the text's line endings if both use one kind and they differ; else returns the same hunks. */
export function evenEndings(hunks: readonly Hunk[], text: string): readonly Hunk[] {
  const returns = text.includes("\r");
  const differ = ({ lines, oldNoNewline, newNoNewline }: Hunk) =>
    !oldNoNewline && !newNoNewline && lines.every((line) => line.endsWith("\r") !== returns);
  // Lines inserted by number alone show nothing of the text: carriage returns in them are meant.
  const bare = hunks.every(({ lines }) => lines.every((line) => line[0] === "+"));
  if (!hunks.every(differ) || (returns ? !hasReturns(text) : bare)) return hunks;
  const change = returns ? (line: string) => `${line}\r` : withoutReturn;
  return hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(change) }));
}

/** Does every line of the text end with a carriage return before its line feed? */
export function hasReturns(text: string): boolean {
  return text.includes("\r\n") && !/(?:^|[^\r])\n/.test(text);
}

/** The ending of the line at an offset, or of the one before it. */
export function endingAt(text: string, offset: number): string {
  const feed = text.indexOf("\n", offset);
  const end = feed < 0 ? text.lastIndexOf("\n") : feed;
  return end > 0 && text[end - 1] === "\r" ? "\r\n" : "\n";
}
