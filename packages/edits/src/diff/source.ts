/** A text with its line offsets. A line includes its line feed, so a last line without one differs from the same line with one. */
export interface Source {
  readonly text: string;
  /** Offset of each line, then the end of the last one. The array may be longer. */
  readonly starts: Int32Array;
  readonly length: number;
}

export function readSource(text: string): Source {
  let starts = new Int32Array(16 + (text.length >> 4));
  let length = 0;
  for (let end = 0; end < text.length; ) {
    const feed = text.indexOf("\n", end);
    end = feed < 0 ? text.length : feed + 1;
    if (++length === starts.length) {
      const wider = new Int32Array(2 * starts.length);
      wider.set(starts);
      starts = wider;
    }
    starts[length] = end;
  }
  return { text, starts, length };
}

/** The line without its line feed. */
export function lineAt({ text, starts }: Source, at: number): string {
  const end = starts[at + 1]!;
  return text.slice(starts[at], text.charCodeAt(end - 1) === 10 ? end - 1 : end);
}

export function endsInNewline({ text }: Source): boolean {
  return text === "" || text.endsWith("\n");
}

export function isSameLine(a: Source, i: number, b: Source, j: number): boolean {
  return isSameRun(a, i, b, j, 1);
}

/** Whether this many lines from `i` and from `j` are equal. */
export function isSameRun(a: Source, i: number, b: Source, j: number, lines: number): boolean {
  const from = a.starts[i]!;
  const other = b.starts[j]!;
  const length = a.starts[i + lines]! - from;
  if (b.starts[j + lines]! - other !== length) return false;
  return a.text.slice(from, from + length) === b.text.slice(other, other + length);
}

/** How many lines are equal from lines `i` and `j` on, up to `iEnd` and `jEnd`. Long runs are compared in blocks. */
export function countSame(a: Source, i: number, iEnd: number, b: Source, j: number, jEnd: number): number {
  const limit = Math.min(iEnd - i, jEnd - j);
  let same = 0;
  for (; same < 4; same++) if (same === limit || !isSameLine(a, i + same, b, j + same)) return same;
  for (let step = 8; same < limit; ) {
    const lines = Math.min(step, limit - same);
    if (isSameRun(a, i + same, b, j + same, lines)) {
      same += lines;
      step = 2 * lines;
    } else if (lines === 1) return same;
    else step = lines >> 1;
    if (step > 8192) step = 8192;
  }
  return same;
}

/** How many lines the two share at their start, and then at their end. */
export function commonEnds(a: Source, b: Source): { start: number; end: number } {
  const start = countSame(a, 0, a.length, b, 0, b.length);
  const limit = Math.min(a.length, b.length) - start;
  let end = 0;
  for (let step = 1; end < limit; ) {
    const lines = Math.min(step, limit - end);
    if (isSameRun(a, a.length - end - lines, b, b.length - end - lines, lines)) {
      end += lines;
      step = Math.min(8192, 2 * lines);
    } else if (lines === 1) break;
    else step = lines >> 1;
  }
  return { start, end };
}
