import type { Profiler } from "node:inspector";
import { decode } from "@jridgewell/sourcemap-codec";

/** A script as it ran, with what V8 counted in it. */
export interface Script {
  readonly functions: readonly Profiler.FunctionCoverage[];
  /** Of each of its lines. */
  readonly lengths: readonly number[];
  readonly map: { readonly mappings: string; readonly sources: readonly (string | null)[] };
  /** Characters before the first line's mapped text. */
  readonly shift: number;
}

/** From the text of a script that says where its map is. Returns undefined where it does not. */
export function scriptOf(text: string, url: string | undefined, functions: Script["functions"]): Script | undefined {
  const encoded = url?.split("base64,")[1];
  if (encoded === undefined) return undefined;
  const map = JSON.parse(Buffer.from(encoded, "base64").toString("utf8")) as Script["map"];
  // Vitest puts the text of a module into a function.
  const shift = /^'use strict';async \([^)]*\)=>\{\{/.exec(text)?.[0].length ?? 0;
  const lengths = text.split("\n").map((line) => line.length);
  return { functions, lengths, map, shift };
}

/** The lines that ran, from 1, of each source of a script. */
export function linesOf({ functions, lengths, map, shift }: Script): Map<string, Set<number>> {
  const offsets: number[] = [];
  const places: { readonly source: number; readonly line: number }[] = [];
  let start = 0;
  decode(map.mappings).forEach((segments, row) => {
    for (const [column, source, line] of segments) {
      if (source === undefined || line === undefined) continue;
      offsets.push(start + column + (row === 0 ? shift : 0));
      places.push({ source, line: line + 1 });
    }
    start += (lengths[row] ?? 0) + 1;
  });
  const counts = new Float64Array(offsets.length);
  // Outer ranges come before those in them, which say it more exactly.
  for (const { ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges)
      counts.fill(count, atLeast(offsets, startOffset), atLeast(offsets, endOffset));
  }
  const lines = new Map<string, Set<number>>();
  places.forEach(({ source, line }, index) => {
    if (counts[index] === 0) return;
    const name = map.sources[source] ?? "";
    if (!lines.has(name)) lines.set(name, new Set());
    lines.get(name)!.add(line);
  });
  return lines;
}

/** The first index with at least that offset. */
function atLeast(offsets: readonly number[], offset: number): number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle]! < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
