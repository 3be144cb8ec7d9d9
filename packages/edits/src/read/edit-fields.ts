import { commonEnds } from "../lines.js";
import { closesFence, type Fence, indentOf, openInner, unindent } from "./fence.js";

export type FieldName = "file" | "action" | "line_start" | "line_end" | "old_content" | "new_content" | "reason";

const KEY = /^[ \t]*(file|action|line_start|line_end|old_content|new_content|reason)[ \t]*:(?=\s|$)(.*)$/s;
const ANY_KEY = /^[ \t]*[A-Za-z_]\w*[ \t]*:(?=\s|$)/;

/** State of reading an edit block between two lines: enough to tell content from keys and from the end. */
export interface Cursor {
  readonly fence: Fence;
  /** The current key, the text on its line, and its indentation. */
  key: FieldName;
  value: string;
  base: number;
  /** The field that the lines below the key belong to. */
  under: "content" | "empty" | "plain" | "unknown" | "nothing";
  first: number | null;
  /** A fence opened in content that is not indented. */
  inner: Fence | null;
}

/** `loose` is content that is not indented below its key; `more` goes on with the value of the key. */
export type LineRole = "key" | "more" | "loose" | "unknown" | "blank" | "bad" | "end";

export function startBlock(fence: Fence): Cursor {
  return { fence, key: "file", value: "", base: 0, under: "nothing", first: null, inner: null };
}

/** Content is deeper than its key, so a fence in it ends nothing; content that is not goes on to the next known key or fence. */
export function step(at: Cursor, line: string): LineRole {
  const { under } = at;
  if (at.inner !== null) return stepLoose(at, line);
  if (line.trim() === "") return ["content", "empty"].includes(under) ? "more" : "blank";
  const indent = indentOf(line).length;
  const isDeeper = indent > at.base;
  const key = KEY.exec(line);
  if (under === "content" && isDeeper && (key === null || indent >= (at.first ?? 0))) {
    at.first ??= indent;
    return "more";
  }
  if (closesFence(line, at.fence)) return "end";
  if (key !== null && !(under === "empty" && isDeeper)) return startField(at, key, indent);
  if (under !== "content") return stepBelow(at, line, indent);
  return at.first !== null && ANY_KEY.test(line) ? "bad" : stepLoose(at, line);
}

/** A line of content that is not indented, in which a fence may open or close. */
function stepLoose(at: Cursor, line: string): "loose" {
  if (at.inner === null) at.inner = openInner(line, at.fence);
  else if (closesFence(line, at.inner)) at.inner = null;
  return "loose";
}

function startField(at: Cursor, key: RegExpExecArray, indent: number): "key" {
  at.key = key[1] as FieldName;
  at.value = key[2]!.trim();
  const scalar = readHeader(at.value);
  at.base = indent;
  at.first = scalar?.digit ? indent + scalar.digit : null;
  at.under = at.value === "" ? "empty" : scalar === null ? "plain" : "content";
  return "key";
}

/** A line below a key that has no content yet. */
function stepBelow(at: Cursor, line: string, indent: number): LineRole {
  const isDeeper = indent > at.base && at.under !== "nothing";
  if (isDeeper && at.under === "empty") {
    at.under = "content";
    at.first = indent;
  }
  if (isDeeper && at.under !== "unknown") return "more";
  if (isDeeper) return "unknown";
  if (!ANY_KEY.test(line)) return "bad";
  at.base = indent;
  at.under = "unknown";
  return "unknown";
}

/** The content in a line that was stepped over; null where it has none. */
export function showField({ first, value }: Cursor, kind: LineRole, line: string): string | null {
  if (kind === "key") return value === "" || readHeader(value) !== null ? null : readScalar(value);
  return kind === "more" || kind === "loose" ? unindent(line, first ?? 0) : null;
}

/** The indentation in columns that the header of a block scalar gives, or 0, and how the scalar ends. */
function readHeader(value: string): { digit: number; chomp: string } | null {
  const match = /^[|>]([1-9]?)([+-]?)([1-9]?)(?:\s+#.*)?$/.exec(value);
  return match && { digit: Number(match[1] || match[3]), chomp: match[2]! };
}

/** A key's value: the text on its line, or the lines below it. */
export interface Field {
  readonly line: number;
  readonly base: number;
  readonly value: string;
  readonly lines: string[];
  /** Indexes of the lines that are not indented. */
  readonly loose: Set<number>;
}

/** The value of a one-line field, even if written on several lines; empty if there is none. */
export function readLine({ value, lines }: Pick<Field, "value" | "lines"> = { value: "", lines: [] }): string {
  if (lines.length === 0) return readScalar(value);
  const all = /^[|>]/.test(value) ? lines : [value, ...lines];
  return all
    .map((line) => line.trim())
    .join(" ")
    .trim();
}

/** The value of a field that is one line long: plain, or quoted as YAML has it. A quote that does not end is plain text. */
export function readScalar(value: string): string {
  if (/^'(?:[^']|'')*'$/.test(value)) return value.slice(1, -1).replaceAll("''", "'");
  if (!/^"(?:[^"\\]|\\.)*"$/.test(value)) return value;
  try {
    return JSON.parse(value) as string;
  } catch {
    return value;
  }
}

/** A content field as lines, without its indentation. */
export interface FieldContent {
  readonly lines: readonly string[];
  /** How a block scalar ends: `-` is without a final newline. Empty for scalars on one line. */
  readonly chomp: string;
}

/** Without a digit in the header old and new content lose the indentation that all their lines share, as models write both. */
export function readContent({ value, base, lines, loose }: Field, shared: number): FieldContent {
  const header = readHeader(value);
  if (header === null && value !== "") {
    const text = readScalar(value);
    return { lines: text === "" ? [] : text.replace(/\n$/, "").split("\n"), chomp: "" };
  }
  const { digit, chomp } = header ?? { digit: 0, chomp: "" };
  const content = lines.map((line, i) => unindent(line, loose.has(i) ? base : digit > 0 ? base + digit : shared));
  if (chomp !== "+") while (/^\r?$/.test(content.at(-1) ?? "x")) content.pop();
  return { lines: content, chomp };
}

/** The width of the indentation shared by all lines of the fields that do not state theirs by a digit. */
export function sharedIndent(fields: readonly Field[]): number {
  const indents = fields
    .filter(({ value }) => !readHeader(value)?.digit)
    .flatMap(({ lines, loose }) => lines.filter((line, i) => !loose.has(i) && line.trim() !== "").map(indentOf))
    .sort();
  // The common prefix of the first and the last of sorted texts is common to all.
  return commonEnds(indents[0] ?? "", indents.at(-1) ?? "").head;
}
