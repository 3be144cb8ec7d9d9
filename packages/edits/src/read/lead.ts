import { isSamePath, listPaths, mayNameFile, plainPath } from "../mentions.js";
import { closesFence, type Fence, openFence, parsePathLine } from "./fence.js";

/** The only words that a line leading up to an edit may have beside the path. */
const WORDS =
  /^(?:[\W\d_]*(?:now|next|then|and|also|finally|lastly|first|second|third|step|in|inside|within|update|edit|modify|change|changes|fix|patch|open|for|to|file|path|the|same|i|will|ll|let|us|s|here|is)\b)*[\W\d_]*$/i;
/** Text allowed behind the path: a colon, or a remark behind a dash or in parentheses. */
const REMARK = /^[`*_\])]*(?: (?:now|next|too|as follows))?(?:\s*:|\s+(?:[-–—]+\s|\([^()]*\)[\s:]*$).*|[.\s]*)$/;

/** The path of a line that only leads up to an edit (`b.js`, `Now in b.js:`, `### 2. Update b.js`); null for others. */
export function parseLead(written: string): string | null {
  const line = written.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1");
  const alone = parsePathLine(line);
  if (alone !== null) return plainPath(alone);
  const [path, second] = listPaths(line);
  if (path === undefined || second !== undefined) return null;
  const at = line.indexOf(path);
  const before = line.slice(0, at);
  return WORDS.test(before) && REMARK.test(line.slice(at + path.length)) ? path : null;
}

/**
 * Which file a block without a path is about: that of the block before it, unless the text between them names another. A
 * line that leads up to an edit of one file names the next one; any other leaves a doubt.
 */
export function followPaths() {
  let path: string | null = null;
  let met = false;
  let doubtful = false;
  let shown: Fence | null = null;
  /** The only line in it, or a line feed for several. */
  let inner = "";
  function endLine(line: string): void {
    if (shown !== null) {
      // A path alone in a fence leads up to what is behind it: the fence may be one end too many.
      if (!closesFence(line, shown)) inner = line.trim() === "" ? inner : inner === "" ? line : "\n";
      else {
        shown = null;
        const alone = parsePathLine(inner);
        if (alone !== null) follow(plainPath(alone), [plainPath(alone)]);
      }
      return;
    }
    shown = openFence(line);
    inner = "";
    if (shown !== null || !mayNameFile(line)) return;
    const lead = parseLead(line);
    const named = lead === null ? listPaths(line) : [lead];
    follow(lead, named);
  }
  function follow(lead: string | null, named: readonly string[]): void {
    if (named.every((each) => path !== null && isSamePath(each, path))) return;
    path = lead;
    // Before the first block there is nothing that could be carried over.
    doubtful = met && lead === null;
  }
  return {
    get path() {
      return path;
    },
    get doubtful() {
      return doubtful;
    },
    /** Records that a block is about this file. */
    meet(about: string | null): void {
      if (about === null) return;
      path = about;
      met = true;
      doubtful = false;
      shown = null;
    },
    /** Takes a line of the text between blocks. */
    pass: endLine,
  };
}
