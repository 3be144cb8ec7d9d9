import { closesFence, type Fence, openInner } from "./fence.js";

export type Key = "file" | "action" | "line_start" | "line_end" | "old_content" | "new_content" | "reason";

const KEY = /^[ \t]*(file|action|line_start|line_end|old_content|new_content|reason)[ \t]*:(?=\s|$)(.*)$/s;
const ANY_KEY = /^[ \t]*[A-Za-z_]\w*[ \t]*:(?=\s|$)/;

/** Where the reading of an edit block stands between two lines: enough to tell content from keys and from the end. */
export interface Position {
  readonly fence: Fence;
  /** Indentation of the key at hand. */
  base: number;
  /** What the lines below the key belong to. */
  under: "content" | "empty" | "plain" | "unknown" | "nothing";
  /** Indentation of the first line of the content. */
  first: number | null;
  /** A fence that content which is not indented has opened. */
  inner: Fence | null;
}

export type Step =
  | { readonly kind: "key"; readonly key: Key; readonly value: string }
  /** `loose` content is not indented below its key. */
  | { readonly kind: "content" | "loose" | "continued" | "unknown" | "blank" | "bad" | "end" };

export function startBlock(fence: Fence): Position {
  return { fence, base: 0, under: "nothing", first: null, inner: null };
}

/**
 * Says what a line of the block is. Content is what stands deeper than its key, so a fence in it ends nothing; content
 * that is not indented at all is content as far as the next known key or the closing fence, inner fences skipped.
 */
export function step(at: Position, line: string): Step {
  const indent = /^[ \t]*/.exec(line)![0].length;
  const blank = line.trim() === "";
  if (at.inner !== null) {
    if (closesFence(line, at.inner)) at.inner = null;
    return { kind: "loose" };
  }
  if (blank) return { kind: at.under === "content" || at.under === "empty" ? "content" : "blank" };
  const deeper = indent > at.base;
  const key = KEY.exec(line);
  if (at.under === "content" && deeper && !(key !== null && at.first !== null && indent < at.first)) {
    at.first ??= indent;
    return { kind: "content" };
  }
  if (closesFence(line, at.fence)) return { kind: "end" };
  if (key !== null && !(at.under === "empty" && deeper)) {
    const value = key[2]!.trim();
    const header = BLOCK_HEADER.exec(value);
    const digit = digitOf(header);
    at.base = indent;
    at.first = digit === 0 ? null : indent + digit;
    at.under = value === "" ? "empty" : header === null ? "plain" : "content";
    return { kind: "key", key: key[1] as Key, value };
  }
  if (at.under === "content") {
    if (at.first !== null && ANY_KEY.test(line)) return { kind: "bad" };
    at.inner = openInner(line, at.fence);
    return { kind: "loose" };
  }
  if (deeper && at.under === "empty") {
    at.under = "content";
    at.first = indent;
    return { kind: "content" };
  }
  if (deeper && at.under === "plain") return { kind: "continued" };
  if (deeper && at.under === "unknown") return { kind: "unknown" };
  if (!ANY_KEY.test(line)) return { kind: "bad" };
  at.base = indent;
  at.under = "unknown";
  return { kind: "unknown" };
}

const BLOCK_HEADER = /^([|>])(?:([1-9])([+-]?)|([+-])([1-9]?))?(?:\s+#.*)?$/;

/** The indentation that a block header says, in columns; 0 where it says none. */
function digitOf(header: RegExpExecArray | null): number {
  return Number(header?.[2] || header?.[5] || 0);
}

/** A key's value: what stands on its line, or the lines below it. */
export interface Field {
  readonly line: number;
  readonly base: number;
  readonly value: string;
  readonly lines: string[];
  /** Indexes of the lines that are not indented. */
  readonly loose: Set<number>;
}

/** The value of a field that is one line long: plain, or quoted as YAML has it. A quote that does not end is plain text. */
export function readScalar(value: string): string {
  if (/^'(?:[^']|'')*'$/.test(value)) return value.slice(1, -1).replaceAll("''", "'");
  if (!/^"(?:[^"\\]|\\.)*"$/.test(value)) return value;
  try {
    const text: unknown = JSON.parse(value);
    return typeof text === "string" ? text : value;
  } catch {
    return value;
  }
}

/** The inverse of `readScalar`. */
export function formatScalar(value: string): string {
  return /^[\w./@(][^\n\r]*$/.test(value) && value.trim() === value && !BLOCK_HEADER.test(value)
    ? value
    : JSON.stringify(value);
}

/** A content field as lines, its indentation taken off. Null where the field is not there. */
export interface Content {
  readonly lines: readonly string[];
  /** How a block scalar ends: `-` is without a final newline. Empty for scalars on one line. */
  readonly chomp: "" | "+" | "-";
  readonly block: boolean;
}

/**
 * Takes the indentation off. Without a digit in the block header the two contents of an edit lose the same indentation,
 * the one that all their lines have: models indent both alike, and a fragment of code may begin deeper than it goes on.
 */
export function readContent(field: Field, prefix: string): Content {
  const header = BLOCK_HEADER.exec(field.value);
  if (header === null && field.value !== "") {
    const text = readScalar(field.value);
    const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
    return { lines, chomp: "", block: false };
  }
  const digit = digitOf(header);
  const lines = field.lines.map((line, i) => {
    if (field.loose.has(i)) return line.slice(Math.min(field.base, /^[ \t]*/.exec(line)![0].length));
    if (digit > 0) return line.slice(Math.min(field.base + digit, /^[ \t]*/.exec(line)![0].length));
    return line.startsWith(prefix) ? line.slice(prefix.length) : line.replace(/^[ \t]+/, "");
  });
  const chomp = (header?.[3] || header?.[4] || "") as Content["chomp"];
  if (chomp !== "+") while (/^\r?$/.test(lines[lines.length - 1] ?? "x")) lines.pop();
  return { lines, chomp, block: true };
}

/** The indentation that all lines of the fields have which do not say theirs by a digit. */
export function sharedIndent(fields: readonly Field[]): string {
  let shared: string | null = null;
  for (const { value, lines, loose } of fields) {
    if (digitOf(BLOCK_HEADER.exec(value)) > 0) continue;
    lines.forEach((line, i) => {
      if (loose.has(i) || line.trim() === "") return;
      const own = /^[ \t]*/.exec(line)![0];
      if (shared === null) shared = own;
      let same = 0;
      while (same < own.length && same < shared.length && own[same] === shared[same]) same++;
      shared = shared.slice(0, same);
    });
  }
  return shared ?? "";
}

/** Writes lines as a block scalar, exactly as `readContent` reads them. Null where no block scalar can say them. */
export function formatContent(key: Key, lines: readonly string[], finalNewline: boolean): string[] | null {
  if (lines.length === 0) return [`${key}: ""`];
  const trailing = /^\r?$/.test(lines[lines.length - 1]!);
  if (trailing && !finalNewline) return null;
  const start = lines.find((line) => line.trim() !== "");
  const digit = start === undefined || /^\s/.test(start) ? "2" : "";
  const chomp = trailing ? "+" : finalNewline ? "" : "-";
  return [`${key}: |${digit}${chomp}`, ...lines.map((line) => (line === "" || line === "\r" ? line : `  ${line}`))];
}
