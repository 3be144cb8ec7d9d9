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
  const line = withoutEnd(raw);
  if (line.length > MAX_HEAD) return null;
  const opened = openFence(line) ?? openTag(line);
  const next = opened === null ? holdText(held, line) : holdFence(held, line, opened, ended);
  return next && { ...held, ...next, raws: [...held.raws, raw] };
}

function holdFence({ raws, path, fence }: HeldHead, line: string, opened: Fence, ended: Fence | null) {
  if (fence !== null || (raws.length > 0 && path === null)) return null;
  const isStray = ended !== null && closesFence(line, ended);
  return { fence: opened, path: parseInfoPath(opened.info) ?? path, isStray };
}

/** Below a fence two lines are held, one of which may be a path; above it one that is a path or that of a diff. */
function holdText({ raws, path, fence, inner, innerPath }: HeldHead, line: string): Partial<HeldHead> | null {
  if (line.trim() === "") {
    // Blank lines are part of a head that has begun.
    const hasBegun = (path ?? fence) !== null || raws.at(-1)?.startsWith("--- ");
    return hasBegun && raws.length <= 4 ? {} : null;
  }
  const own = parsePathLine(line);
  if (fence !== null) return inner === 2 ? null : { inner: inner + 1, innerPath: own ?? innerPath };
  return raws.length === 0 && (own !== null || line.startsWith("--- ")) ? { path: own } : null;
}

/** The line as a block reads it. */
export function lineOf(raw: string, fence: Fence | null): string {
  return outdent(raw.endsWith("\n") ? raw.slice(0, -1) : raw, fence);
}

/** The line without its end. */
export function withoutEnd(raw: string): string {
  return raw.endsWith("\n") ? withoutReturn(raw.slice(0, -1)) : raw;
}
