import { mayNameFile } from "../mentions.js";

/** A markdown code fence's opening line, or a tag that stands for one. */
export interface Fence {
  /** The character of a fence; a tag's closing tag. */
  readonly mark: string;
  /** How many of them there are; 0 for a tag. */
  readonly length: number;
  readonly indent: string;
  /** Text behind the backticks: usually a language. */
  readonly info: string;
}

/** Lines longer than this never open a block, so a reader need not hold back more than this many UTF-16 code units. */
export const HEAD_LIMIT = 1024;

export function openFence(line: string): Fence | null {
  const match = /^([ \t]*)(`{3,}|~{3,})([^`]*)$/.exec(line);
  if (match === null) return null;
  const [, indent, marks, info] = match;
  return { mark: marks![0]!, length: marks!.length, indent: indent!, info: info!.trim() };
}

/** A tag alone on its line, perhaps with a language, as some agents write it instead of a fence: `<source>python`. */
export function openTag(line: string): Fence | null {
  const [, indent, name, info] = /^([ \t]*)<([a-z][\w-]*)>([\w+#-]*)\s*$/i.exec(line) ?? [];
  return name === undefined ? null : { mark: `</${name}>`, length: 0, indent: indent!, info: info! };
}

/**
 * CommonMark: a fence is closed by at least as many of the same marks and nothing else. The closing line may be indented
 * up to three columns further than the opening one; a caller whose content is prefixed by a space allows none.
 */
export function closesFence(line: string, fence: Fence, slack = 3): boolean {
  if (fence.length === 0) return line.trim() === fence.mark;
  const own = openFence(line);
  return (
    own?.info === "" &&
    own.indent.length <= fence.indent.length + slack &&
    own.mark === fence.mark &&
    own.length >= fence.length
  );
}

/**
 * A fence in the content of another that would be taken for its end when it closes: one with a language, which says that
 * it opens, and with no fewer marks than the outer one.
 */
export function openInner(line: string, outer: Fence): Fence | null {
  const fence = openFence(line);
  return fence?.info && fence.mark === outer.mark && fence.length >= outer.length ? fence : null;
}

export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)![0];
}

/** Removes this much of the line's indentation, or all of it if it has less. */
export function unindent(line: string, width: number): string {
  return width === 0 ? line : line.slice(Math.min(width, indentOf(line).length));
}

/** CommonMark: the lines in an indented fence lose as much indentation as the fence has, or as they have. */
export function outdent(line: string, fence: Fence | null): string {
  return unindent(line, fence?.indent.length ?? 0);
}

/** Puts the lines in a fence that none of them can close. */
export function formatFence(lines: readonly string[], info = ""): string {
  let longest = 2;
  for (const line of lines) longest = Math.max(longest, /^[ \t+-]*(`*)/.exec(line)![1]!.length);
  const fence = "`".repeat(longest + 1);
  return `${[fence + info, ...lines, fence].join("\n")}\n`;
}

const LABEL =
  /^\s*(?:(?:#{1,6}|\/\/|\d+\.|[-*])\s+){0,2}(?:\*{0,2}(?:filename|filepath|file|path)\*{0,2}\s*:\*{0,2}\s*)?/i;
/** Remarks allowed behind a path: `(new)`, `(new file)`. */
const REMARK = /\s\([\w –-]{1,20}\)(?=:?$)/;
/** A line, or lines, of the file. */
const PLACE = /(?::\d+(?:[-–:]\d+)?|#L\d+(?:-L?\d+)?)$/;
/** Names of files without an extension. */
const NAME =
  /^(?:[A-Z][a-z]+file|LICEN[CS]E|README|NOTICE|AUTHORS|CONTRIBUTORS|MAINTAINERS|CHANGELOG|CHANGES|COPYING|INSTALL|NEWS|TODO|VERSION|(?:CODE)?OWNERS|BUILD|WORKSPACE)$/;
/** A name with blanks begins with a small letter or a digit; prose seldom does, and it has words that names have not. */
const WORDS = /^[\da-z_.][\w./-]*(?: [\w./-]+){1,3}$/;
const PROSE = /(?:^| )(?:an?|and|at|for|from|here|in|is|of|on|see|the|then|this|to|with)(?: |$)/;

/**
 * The path that a line consists of, as models write it above a block: bare, as a heading or comment, after `File:`, in
 * backticks, in asterisks or in `<path>`, perhaps with `(new)` behind it. Null for any other line, above all for a line of prose.
 */
export function parsePathLine(line: string): string | null {
  if (line.length > HEAD_LIMIT || !mayNameFile(line)) return null;
  const label = LABEL.exec(line)![0];
  const rest = line.slice(label.length).trim().replace(REMARK, "");
  const [, exact] = /^<path>(.+)<\/path>$/.exec(rest) ?? [];
  if (exact !== undefined) return /\w/.test(exact) ? exact : null;
  const quoted = /^(?:\*\*)?`([^`]+)`(?:\*\*)?:?$/.exec(rest)?.[1]?.replace(PLACE, "");
  if (quoted !== undefined) return /\w/.test(quoted) ? quoted : null;
  const bare = /^\*\*([^\s*]+)\*\*:?$/.exec(rest)?.[1] ?? rest.replace(/:$/, "").replace(/\*\*$/, "");
  const path = bare.replace(PLACE, "");
  if (WORDS.test(path)) return /[^.]\.[A-Za-z]\w{0,9}$/.test(path) && !PROSE.test(path) ? path : null;
  if (!/^[^\s`*<>|"?]+$/.test(path) || !/\w/.test(path) || path.includes("://")) return null;
  const shaped = /(?:^|[^.])\.[\w-]+$/.test(path) || (/[/\\]/.test(path) && /\w$/.test(path)) || NAME.test(path);
  return shaped || /:\*{0,2}\s*$/.test(label) ? path : null;
}

/** Writes a path as a line of its own, so that `parsePathLine` gives it back. */
export function formatPathLine(path: string): string {
  return [path, `\`${path}\``].find((line) => parsePathLine(line) === path) ?? `<path>${path}</path>`;
}

/** The path in a fence's info string: `ts:src/a.ts`, `src/a.ts`, `ts src/a.ts`, `ts title="src/a.ts"`, `12:20:src/a.ts`. */
export function parseInfoPath(info: string): string | null {
  const named = /(?:^|[\s{])(?:title|file|filename|path)=["']?([^"'\s}]+)/.exec(info);
  if (named !== null) return named[1]!;
  const last = info.split(/\s+/).pop()!;
  return parsePathLine(last.replace(/^(?:\d+:\d+:|[\w+#-]+:(?=[\w./]))/, ""));
}

/**
 * Whether the start of a line, read so far, may still become a line that opens a block or belongs to its head. False must
 * be final: no continuation of the line may be an opening line, because the reader then passes the line on as text.
 */
export function mayOpen(start: string): boolean {
  if (start.length > HEAD_LIMIT) return false;
  const label = LABEL.exec(start)![0];
  const rest = start
    .slice(label.length)
    .trimEnd()
    .replace(/ \([\w –-]*\)?:?$/, "");
  // One word, or a few, with or without a label; quoted paths may contain blanks.
  if (/^(?:\S*|\*{0,2}`[^`]*`?[*:]*|[\da-z_.][\w./-]*(?: [\w./-]+){1,3}:?)$|^<path>/.test(rest)) return true;
  const text = start.trimStart();
  if (
    start.startsWith("@@") ||
    /^(?:`{3}|~{3}|--- |\+\+\+ |diff --git )/.test(text) ||
    /^[<-]+ \w{0,6}>?\s*$/.test(text)
  )
    return true;
  return "*** Begin Patch".startsWith(text.trimEnd()) || "diff --git".startsWith(text);
}
