/** Lines longer than this never open a block, so a reader need not hold back more than this many UTF-16 code units. */
export const MAX_HEAD = 1024;

const LABEL =
  /^\s*(?:(?:#{1,6}|\/\/|\d+\.|[-*])\s+){0,2}(?:\*{0,2}(?:filename|filepath|file|path)\*{0,2}\s*:\*{0,2}\s*)?/i;
const REMARK = /\s\([\w –-]{1,20}\)(?=:?$)/;
const PLACE = /(?::\d+(?:[-–:]\d+)?|#L\d+(?:-L?\d+)?)$/;
/** Names of files without an extension. */
const NAME =
  /^(?:[A-Z][a-z]+file|LICEN[CS]E|README|NOTICE|AUTHORS|CONTRIBUTORS|MAINTAINERS|CHANGELOG|CHANGES|COPYING|INSTALL|NEWS|TODO|VERSION|(?:CODE)?OWNERS|BUILD|WORKSPACE)$/;
/** A name with blanks begins with a small letter or a digit; prose seldom does, and it has words that names have not. */
const SPACED = /^[\da-z_.][\w./-]*(?: [\w./-]+){1,3}$/;
const PROSE = /(?:^| )(?:an?|and|at|for|from|here|in|is|of|on|see|the|then|this|to|with)(?: |$)/;

/** The path that a line consists of, as models write it above a block: bare, labelled, in backticks, asterisks or `<path>`. */
export function parsePathLine(line: string): string | null {
  if (line.length > MAX_HEAD || !mayNameFile(line)) return null;
  const label = LABEL.exec(line)![0];
  const rest = line.slice(label.length).trim().replace(REMARK, "");
  const exact =
    /^<path>(.+)<\/path>$/.exec(rest)?.[1] ?? /^(?:\*\*)?`([^`]+)`(?:\*\*)?:?$/.exec(rest)?.[1]?.replace(PLACE, "");
  if (exact !== undefined) return /\w/.test(exact) ? exact : null;
  const bare = /^\*\*([^\s*]+)\*\*:?$/.exec(rest)?.[1] ?? rest.replace(/:$/, "").replace(/\*\*$/, "");
  const path = bare.replace(PLACE, "");
  return isPath(path, /:\*{0,2}\s*$/.test(label)) ? path : null;
}

function isPath(text: string, isLabelled: boolean): boolean {
  if (SPACED.test(text)) return /[^.]\.[A-Za-z]\w{0,9}$/.test(text) && !PROSE.test(text);
  if (!/^[^\s`*<>|"?]+$/.test(text) || !/\w/.test(text) || text.includes("://")) return false;
  const isShaped = /(?:^|[^.])\.[\w-]+$/.test(text) || (/[/\\]/.test(text) && /\w$/.test(text)) || NAME.test(text);
  return isShaped || isLabelled;
}

/** The path in a fence's info string: `ts:src/a.ts`, `src/a.ts`, `ts src/a.ts`, `ts title="src/a.ts"`, `12:20:src/a.ts`. */
export function parseInfoPath(info: string): string | null {
  const named = /(?:^|[\s{])(?:title|file|filename|path)=["']?([^"'\s}]+)/.exec(info);
  if (named !== null) return named[1]!;
  const last = info.split(/\s+/).pop()!;
  return parsePathLine(last.replace(/^(?:\d+:\d+:|[\w+#-]+:(?=[\w./]))/, ""));
}

/** Whether the start of a line may become one of a head. False must be final, because the reader then passes the line on as text. */
export function mayOpen(start: string): boolean {
  if (start.length > MAX_HEAD) return false;
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

/** The only words that a line leading up to an edit may have beside the path. */
const LEAD =
  /^(?:[\W\d_]*(?:now|next|then|and|also|finally|lastly|first|second|third|step|in|inside|within|update|edit|modify|change|changes|fix|patch|open|for|to|file|path|the|same|i|will|ll|let|us|s|here|is)\b)*[\W\d_]*$/i;
/** Text allowed behind the path: a colon, or a remark behind a dash or in parentheses. */
const BEHIND = /^[`*_\])]*(?: (?:now|next|too|as follows))?(?:\s*:|\s+(?:[-–—]+\s|\([^()]*\)[\s:]*$).*|[.\s]*)$/;

/** The path of a line that only leads up to an edit (`b.js`, `Now in b.js:`, `### 2. Update b.js`); null for others. */
export function parseLead(written: string): string | null {
  const line = written.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1");
  const alone = parsePathLine(line);
  if (alone !== null) return plainPath(alone);
  const [path, second] = listPaths(line);
  if (path === undefined || second !== undefined) return null;
  const at = line.indexOf(path);
  const before = line.slice(0, at);
  return LEAD.test(before) && BEHIND.test(line.slice(at + path.length)) ? path : null;
}

/** File extensions by which a word in prose counts as a file name. */
const ENDING =
  /[^./\\]\.(?:[cm]?[jt]sx?|json[5c]?|pyi?|rb|go|rs|java|kts?|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|bash|ps1|bat|s?css|less|sass|html?|xml|svg|ya?ml|toml|ini|cfg|conf|lock|mdx?|rst|txt|adoc|org|sql|vue|svelte|astro|lua|p[lm]|r|jl|exs?|erl|hs|mli?|clj[sc]?|dart|gradle|proto|tf|el|zig|nim|graphql|prisma|ipynb)$/i;
const NAME_IN_PROSE = /^(?:[A-Z][a-z]+file|go\.mod|\.[a-z]+(?:ignore|rc)|\.env)$/;
/** Names of things that look like file names. */
const NO_FILE =
  /^(?:node|next|nuxt|vue|react|express|three|chart|ember|backbone|d3|alpine|angular|solid|discord)\.js$/i;
/** Whether a line has one of the signs without which none names a file. */
export function mayNameFile(line: string): boolean {
  return /[./\\:`<A-Z]/.test(line);
}

/** The paths that a line of prose names. */
export function listPaths(line: string): string[] {
  // A quick check: each of these names has an ending, or is like `Makefile`.
  if (!/\.[A-Za-z]|[A-Z][a-z]+file/.test(line)) return [];
  const found = new Set<string>();
  for (const word of line.replaceAll("](", " ").split(/[\s`*"'<>,;|]+/)) {
    if (word.includes("://") || (word.endsWith(")") && /\w\(/.test(word))) continue;
    // Without the line's number behind a colon.
    const name = word.replace(/^[([{]+/, "").split(/:\d/)[0]!;
    let end = name.length;
    while (end > 0 && ")]}.:!?".includes(name[end - 1]!)) end--;
    const path = plainPath(name.slice(0, end));
    if ((ENDING.test(path) || NAME_IN_PROSE.test(path)) && !NO_FILE.test(path)) found.add(path);
  }
  return [...found];
}

/** Whether the path is the one that is meant, or its end. */
export function isSamePath(named: string, meant: string): boolean {
  return named === plainPath(meant) || meant.endsWith(`/${named}`);
}

export function plainPath(path: string): string {
  return path.replace(/^(?:\.[/\\])+/, "");
}
