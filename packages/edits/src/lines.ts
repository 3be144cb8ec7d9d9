import { needText } from "./need.js";

/** Only a line feed ends a line, so no byte is lost: `joinLines(splitLines(text)) === text`. The empty text ends with a newline. */
export interface Lines {
  readonly lines: readonly string[];
  /** False where the last line has no line feed at its end. */
  readonly newlineAtEnd: boolean;
}

export function splitLines(text: string): Lines {
  needText({ text });
  const lines = text.split("\n");
  if (lines[lines.length - 1] !== "") return { lines, newlineAtEnd: false };
  lines.pop();
  return { lines, newlineAtEnd: true };
}

export function joinLines({ lines, newlineAtEnd }: Lines): string {
  if (lines.length === 0) return "";
  return newlineAtEnd ? `${lines.join("\n")}\n` : lines.join("\n");
}

export function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
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

/** Offset at which each line starts, and one more: the text's length. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

/** One replaced stretch of a text, by UTF-16 offsets. Lists of them are sorted and do not overlap. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** Applies the splices; everything outside them stays byte for byte. */
export function spliceText(text: string, splices: readonly Splice[]): string {
  let result = "";
  let end = 0;
  for (const { from, to, insert } of splices) {
    result += text.slice(end, from) + insert;
    end = to;
  }
  return result + text.slice(end);
}

/** How much two sequences have in common at their beginnings, and behind that at their ends. */
export function commonEnds<Item>(a: ArrayLike<Item>, b: ArrayLike<Item>): { head: number; tail: number } {
  const least = Math.min(a.length, b.length);
  let head = 0;
  while (head < least && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < least - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { head, tail };
}
