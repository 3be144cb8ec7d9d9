import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Words that a reader of the field does not know, and sentences that have to be read twice, each with what is written instead. */
const retired: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\btold (by|apart by another)\b/, "discriminator, tag"],
  [/\bwhat answers what\b/i, "request matching, correlation"],
  [/\b(buried|undertaker)\b/, "tombstone"],
  [/\b(inquiry|handover)\b/, "query, channel routing"],
  [/\b(forsake|vacate|occup(y|ies))\b/, "abandon, release, acquire"],
  [/\bno schema says\b/, "hand-written helpers"],
  [/\bwhere it is said\b/, "where it is specified"],
  [/\beverything that is wrong\b/, "every problem"],
  [/\bunless told\b/, "by default"],
  [/\b(heard of|hears? of it)\b/, "is reported, is aborted, gets an error"],
  [/\bis nobody's\b/, "is treated as not found"],
  [/\bwhat waits\b/i, "queued, buffered or open things, by name"],
  [/\bwhoever\b/i, "a client, a caller, a reader"],
  [/\bof theirs\b/, "its own"],
  [/\bdawdle/, "is slow"],
  [/\bwould not do\b/, "what happens instead"],
  [/\b(still|is) believed\b/, "assumed, trusted"],
];

/** Generated files, lists of names, data, and the two lists of these words. */
const left =
  /pnpm-lock|protocols\/src\/|exports\.txt|\/transcripts\/|test\/words\.test\.ts|test\/prose\.test\.ts|^\.changeset\//;

test("no retired word is left in code, documents or schemas", () => {
  const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  const files = tracked.split("\n").filter((file) => /\.(ts|md|json|mjs|html|css)$/.test(file) && !left.test(file));
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, i) =>
        retired.flatMap(([pattern, instead]) =>
          pattern.test(line) ? [`${file}:${i + 1}: ${line.trim()} (${instead})`] : [],
        ),
      ),
  );
  expect(found).toEqual([]);
});
