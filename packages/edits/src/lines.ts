import { needText } from "./need.js";
/**
 * A text as lines. Only a line feed ends a line: a carriage return before it belongs to the line, so no byte is lost.
 * Law: `joinLines(splitLines(text)) === text`. The empty text has no lines and ends, by convention, with a newline.
 */
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
