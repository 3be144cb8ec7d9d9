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
  ["packages/edits/README.md", /for diffs of git alone \| ([\d.]+) \|/, "edits, diffs of git"],
  ["packages/edits/README.md", /for unified diffs alone \| ([\d.]+) \|/, "edits, unified diffs"],
  ["packages/edits/README.md", /for tool calls \| ([\d.]+) \|/, "edits, a tool call"],
  ["packages/edits/README.md", /for a model's answer \| ([\d.]+) \|/, "edits, a model's answer"],
  ["packages/edits/README.md", /for a stream \| ([\d.]+) \|/, "edits, a stream"],
  ["packages/edits/README.md", /`merge3` \| ([\d.]+) \|/, "edits, merge"],
  ["packages/edits/README.md", /everything of `\/editor` \| ([\d.]+) \|/, "edits, editor"],
  ["packages/edits/README.md", /everything of the root entry \| ([\d.]+) \|/, "edits, whole"],
];

test.each(figures)("%s names the size of %s as .size-limit.js limits it: %s", (path, words, name) => {
  const [, figure = ""] = words.exec(readFileSync(`${root}/${path}`, "utf8").replaceAll("\n", " ")) ?? [];
  const { limit } = (limits as { name: string; limit: string }[]).find((one) => one.name === name)!;
  const [, decimals = ""] = figure.split(".");
  expect(figure).toBe(Number.parseFloat(limit).toFixed(decimals.length));
});
