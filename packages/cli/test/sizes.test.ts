import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
// @ts-expect-error: a configuration without types
import limits from "../../../.size-limit.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Each size that a README names, behind these words, and the limit that CI holds. */
const figures: readonly (readonly [path: string, words: RegExp, limit: string])[] = [
  ["README.md", /([\d.]+) kB gzipped in a page/, "client + fold-gateway, in all (with streams)"],
  ["packages/client/README.md", /a page loads ([\d.]+) kB/, "client + fold-gateway, at once"],
  ["packages/client/README.md", /([\d.]+) kB when it streams/, "client + fold-gateway, in all (with streams)"],
  ["packages/client/README.md", /with both it is ([\d.]+) kB/, "client + fold-gateway, with resume"],
  ["packages/edits/README.md", /the whole ([\d.]+) kB/, "edits, whole"],
  ["packages/edits/README.md", /`\/unified` ([\d.]+) kB/, "edits, unified diffs"],
  ["packages/edits/README.md", /([\d.]+) kB with `applyStrictly`/, "edits, unified diffs, applied strictly"],
  ["packages/edits/README.md", /([\d.]+) kB with `repairs`/, "edits, unified diffs, with repairs"],
  ["packages/edits/README.md", /([\d.]+) kB with `rungs` too/, "edits, unified diffs, with repairs and all rungs"],
  ["packages/edits/README.md", /`readEdits` ([\d.]+) kB/, "edits, stream of all formats"],
  ["packages/edits/README.md", /`\/merge` ([\d.]+) kB/, "edits, merge"],
  ["packages/edits/README.md", /`\/lsp` ([\d.]+) kB/, "edits, lsp"],
];

test.each(figures)("%s names the size of %s as .size-limit.js limits it: %s", (path, words, name) => {
  const [, figure = ""] = words.exec(readFileSync(`${root}/${path}`, "utf8").replaceAll("\n", " ")) ?? [];
  const { limit } = (limits as { name: string; limit: string }[]).find((one) => one.name === name)!;
  const [, decimals = ""] = figure.split(".");
  expect(figure).toBe(Number.parseFloat(limit).toFixed(decimals.length));
});
