import { closesFence, type Fence, HEAD_LIMIT, openFence, openTag, parseInfoPath, parsePathLine } from "./fence.js";
import { chomp } from "./open-block.js";

/** Lines held back because a later one may make them the head of a block. */
export interface Held {
  readonly raws: readonly string[];
  readonly path: string | null;
  readonly innerPath: string | null;
  readonly fence: Fence | null;
  /** Lines between the fence and the line at hand, blank ones left out. */
  readonly inner: number;
  /** The fence stands right behind that of a block, so it may be one end too many. */
  readonly stray: boolean;
}

export const NOTHING: Held = { raws: [], path: null, innerPath: null, fence: null, inner: 0, stray: false };

/** The lines with one more that may belong to the head of a block which a later line opens; null where it may not. */
export function hold(held: Held, raw: string, ended: Fence | null): Held | null {
  const line = chomp(raw);
  const { raws, path, fence, inner } = held;
  if (line.length > HEAD_LIMIT) return null;
  const all = [...raws, raw];
  const opened = openFence(line) ?? openTag(line);
  const named = parsePathLine(line);
  if (opened !== null) {
    if (fence !== null || (raws.length > 0 && path === null)) return null;
    const stray = ended !== null && closesFence(line, ended);
    return { ...held, raws: all, fence: opened, path: parseInfoPath(opened.info) ?? path, stray };
  }
  if (line.trim() === "")
    return (path === null && fence === null && !raws.at(-1)?.startsWith("--- ")) || raws.length > 4
      ? null
      : { ...held, raws: all };
  if (fence !== null)
    return inner === 2 ? null : { ...held, raws: all, inner: inner + 1, innerPath: named ?? held.innerPath };
  return raws.length > 0 || (named === null && !line.startsWith("--- ")) ? null : { ...held, raws: all, path: named };
}
