import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { anchorOf, siteLink, sourceOf } from "../../../docs/.vitepress/links.js";
import { outline } from "../../../docs/.vitepress/outline.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const documents = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], {
  cwd: root,
  encoding: "utf8",
})
  .trim()
  .split("\n")
  .filter((path) => !path.startsWith(".changeset/") && existsSync(join(root, path)));

/** A document without its fences and its code: what stands there is no link. */
const proseOf = (path: string) =>
  readFileSync(join(root, path), "utf8")
    .replaceAll(/^(`{3,}).*\n[\s\S]*?^\1$/gm, "")
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, " "));

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(path: string): Set<string> {
  const counts = new Map<string, number>();
  const headings = [
    ...readFileSync(join(root, path), "utf8")
      .replaceAll(/^(`{3,}).*\n[\s\S]*?^\1$/gm, "")
      .matchAll(/^#+ (.*)$/gm),
  ];
  return new Set(
    headings.map(([, heading]) => {
      const anchor = anchorOf(heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
      const count = counts.get(anchor) ?? 0;
      counts.set(anchor, count + 1);
      return count === 0 ? anchor : `${anchor}-${count}`;
    }),
  );
}

test("every link of every document leads to a file of the repository, and to a heading in it", () => {
  const links = documents.flatMap((path) =>
    [...proseOf(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, href]) => ({ path, href: href! })),
  );
  expect(links.length).toBeGreaterThan(50);
  const dead = links
    .filter(({ href }) => !/^[a-z]+:/i.test(href))
    .filter(({ path, href }) => {
      const [file = "", anchor] = href.split("#");
      // The site's own files stand at its root.
      const folder = file.startsWith("/") ? "docs/public" : dirname(path);
      const target = file === "" ? path : relative(root, join(root, folder, file));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
    });
  expect(dead).toEqual([]);
});

test("the site's outline has every guide, every package and every protocol", () => {
  const links = documents
    .filter(
      (path) =>
        /^(docs\/([^/]+|start\/.+)|(packages|schemas)\/[^/]+\/README)\.md$/.test(path) && path !== "docs/index.md",
    )
    .map((path) => siteLink("README.md", path));
  expect(links.length).toBeGreaterThan(30);
  const listed = new Set(outline.flatMap(({ items }) => items.map(({ link }) => link)));
  expect(links.filter((link) => !listed.has(link))).toEqual([]);
});

test.each([
  ["docs/errors.md", "limits.md#server", "/limits#server"],
  ["docs/start/editor-plugin.md", "../streams.md", "/streams"],
  ["docs/runtimes.md", "../packages/store-redis/README.md", "/packages/store-redis"],
  [
    "docs/observability.md",
    "../examples/metrics/server.ts",
    "https://github.com/parlance-sdk/parlance/blob/main/examples/metrics/server.ts",
  ],
  ["packages/cli/README.md", "../../docs/contract.md#editors", "/contract#editors"],
  ["schemas/fold-gateway/README.md", "../coven/README.md", "/protocols/coven/"],
  ["docs/start/editor-plugin.md", "../../README.md#the-protocols", "/protocols/"],
  ["docs/errors.md", "#refusal", "#refusal"],
])("on the site a link in %s to %s leads to %s", (source, href, link) => {
  expect(siteLink(source, href)).toBe(link);
});

test.each([
  ["errors.md", "docs/errors.md"],
  ["packages/client.md", "packages/client/README.md"],
  ["protocols/coven/index.md", "schemas/coven/README.md"],
  ["protocols/index.md", "README.md"],
])("the site's page %s is read from %s", (page, source) => {
  expect(sourceOf(page)).toBe(source);
});
