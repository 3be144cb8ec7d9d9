/** A markdown code fence's opening line, or a tag that stands for one. */
export interface Fence {
  /** The character of a fence; a tag's closing tag. */
  readonly mark: string;
  readonly length: number;
  readonly indent: string;
  /** Text behind the backticks: usually a language. */
  readonly info: string;
}

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

/** Whether its content is a diff, by the words behind it. */
export function isDiff({ info }: Fence): boolean {
  return /^(?:diff|patch|udiff)\b/.test(info);
}

/** As in CommonMark, but for `slack`: how much deeper than the opening line the closing one may be. */
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

/** A fence in the content of another whose end would be taken for that of the outer one: it has a language, and as many marks. */
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
