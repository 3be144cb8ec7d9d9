import { posix } from "node:path";

const REPOSITORY = "https://github.com/parlance-sdk/parlance/blob/main/";

/** Where a page of the site stands in the repository. Generated pages are copies of READMEs. */
export function sourceOf(page: string): string {
  const [, readme] = /^packages\/(.+)\.md$/.exec(page) ?? [];
  if (readme) return `packages/${readme}/README.md`;
  const [, protocol] = /^protocols\/(.+)\/index\.md$/.exec(page) ?? [];
  if (protocol) return `schemas/${protocol}/README.md`;
  return page === "protocols/index.md" ? "README.md" : `docs/${page}`;
}

/** What a relative link of a document in the repository leads to on the site: a page, or the file at its host. */
export function siteLink(source: string, href: string): string {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(source), path);
  const hash = anchor === undefined ? "" : `#${anchor}`;
  const page = pageOf(target, anchor);
  return page === undefined ? `${REPOSITORY}${target}${hash}` : page === "/protocols/" ? page : `${page}${hash}`;
}

function pageOf(path: string, anchor: string | undefined): string | undefined {
  if (path === "README.md") return anchor === "the-protocols" ? "/protocols/" : "/";
  const [, readme] = /^packages\/([^/]+)\/README\.md$/.exec(path) ?? [];
  if (readme) return `/packages/${readme}`;
  const [, protocol] = /^schemas\/([^/]+)\/README\.md$/.exec(path) ?? [];
  if (protocol) return `/protocols/${protocol}/`;
  const [, page] = /^docs\/(.+)\.md$/.exec(path) ?? [];
  return page && `/${page}`;
}

/** GitHub's anchors: documents link to them, and are read there too. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

interface Token {
  readonly type: string;
  content: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}
interface MarkdownIt {
  readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } };
}
interface State {
  readonly tokens: Token[];
  readonly env: { readonly relativePath?: string };
  readonly Token: new (type: string, tag: string, nesting: number) => Token;
}

/** Turns the links of a document into links of the site. */
export function outward(markdown: MarkdownIt): void {
  markdown.core.ruler.push("outward", ({ tokens, env }) => {
    const source = sourceOf(env.relativePath ?? "index.md");
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" && token.attrGet("href");
      if (href) token.attrSet("href", siteLink(source, href));
    }
  });
}

/** Lets the anchors of the API reference through, the one HTML that a page may have. */
export function anchors(markdown: MarkdownIt): void {
  markdown.core.ruler.push("anchors", ({ tokens, Token }) => {
    for (const token of tokens)
      if (token.children?.some(({ content }) => content.includes("<a id=")))
        token.children = token.children.flatMap((child) => {
          if (child.type !== "text") return [child];
          return child.content.split(/(<a id="[\w-]+"><\/a>)/).map((content) => {
            const piece = new Token(content.startsWith("<a id=") ? "html_inline" : "text", "", 0);
            piece.content = content;
            return piece;
          });
        });
  });
}
