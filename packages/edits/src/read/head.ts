import { withoutReturn } from "../lines.js";
import { closesFence, type Fence, openFence, openTag, outdent } from "./fence.js";
import { MAX_HEAD, parseInfoPath, parsePathLine } from "./path-line.js";

/** Lines held back because a later one may make them the head of a block. */
export interface HeldHead {
  readonly raws: readonly string[];
  readonly path: string | null;
  readonly innerPath: string | null;
  readonly fence: Fence | null;
  /** Lines between the fence and the current line, blank ones left out. */
  readonly inner: number;
  /** The fence follows that of a block immediately, so it may be a second end of it. */
  readonly isStray: boolean;
}

export const NOTHING: HeldHead = { raws: [], path: null, innerPath: null, fence: null, inner: 0, isStray: false };

/** The head with one more line, if a later one may open a block whose head both belong to. `ended`: the last fence that ended. */
export function holdLine(held: HeldHead, raw: string, ended: Fence | null): HeldHead | null {
  const { raws, path, fence, inner, innerPath } = held;
  const line = withoutEnd(raw);
  if (line.length > MAX_HEAD) return null;
  const opened = openFence(line) ?? openTag(line);
  const own = opened === null ? parsePathLine(line) : parseInfoPath(opened.info);
  const isDashes = line.startsWith("--- ");
  let next: Partial<HeldHead>;
  if (opened !== null) {
    if (fence !== null || (raws.length > 0 && path === null)) return null;
    next = { fence: opened, path: own ?? path, isStray: ended !== null && closesFence(line, ended) };
  } else if (line.trim() === "") {
    // Blank lines are part of a head that has begun.
    if ((path === null && fence === null && !raws.at(-1)?.startsWith("--- ")) || raws.length > 4) return null;
    next = {};
  } else if (fence !== null) {
    // Below a fence two lines are held, one of which may be a path; above it one that is a path or that of a diff.
    if (inner === 2) return null;
    next = { inner: inner + 1, innerPath: own ?? innerPath };
  } else if (raws.length === 0 && (own !== null || isDashes)) next = { path: own };
  else return null;
  return { ...held, ...next, raws: [...raws, raw] };
}

/** The line as a block reads it. */
export function lineOf(raw: string, fence: Fence | null): string {
  return outdent(raw.endsWith("\n") ? raw.slice(0, -1) : raw, fence);
}

/** The line without its end. */
export function withoutEnd(raw: string): string {
  return raw.endsWith("\n") ? withoutReturn(raw.slice(0, -1)) : raw;
}
