/** File extensions by which a word in prose counts as a file name. */
const ENDING =
  /[^./\\]\.(?:[cm]?[jt]sx?|json[5c]?|pyi?|rb|go|rs|java|kts?|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|bash|ps1|bat|s?css|less|sass|html?|xml|svg|ya?ml|toml|ini|cfg|conf|lock|mdx?|rst|txt|adoc|org|sql|vue|svelte|astro|lua|p[lm]|r|jl|exs?|erl|hs|mli?|clj[sc]?|dart|gradle|proto|tf|el|zig|nim|graphql|prisma|ipynb)$/i;
const NAME = /^(?:[A-Z][a-z]+file|go\.mod|\.[a-z]+(?:ignore|rc)|\.env)$/;
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
    if ((ENDING.test(path) || NAME.test(path)) && !NO_FILE.test(path)) found.add(path);
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
