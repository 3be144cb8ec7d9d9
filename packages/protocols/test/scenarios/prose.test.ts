import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

// Descriptions are hovers in an editor. Where a form comes from is a `$comment`'s and the README's.
const schemas = new URL("../../../../schemas/", import.meta.url);
const riddle =
  /\b(?:what came of|(?:is|are|was|were) (?:said|told|heard)|theirs|nobody|whoever|unless told|at that)\b/i;
const provenance = /\bours\b|\bthe document\b|\breal (?:servers?|clients?|peers?)\b/i;

test.each(readdirSync(schemas, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? one.name : [])))(
  "the descriptions of %s tell what a thing is, not where it comes from",
  (name) => {
    const files = [
      "contract.json",
      ...readdirSync(new URL(`${name}/messages/`, schemas)).map((file) => `messages/${file}`),
    ];
    const told = files.flatMap((file) =>
      descriptions(JSON.parse(readFileSync(new URL(`${name}/${file}`, schemas), "utf8"))).map(
        (text) => `${file}: ${text}`,
      ),
    );
    // Imported schemas have a sentence of ours for each form, and none for their properties.
    expect(told.length).toBeGreaterThanOrEqual(files.length);
    expect(told.filter((text) => provenance.test(text) || riddle.test(text))).toEqual([]);
  },
);

/** All but those of reading rules, which tell what peers write. */
function descriptions(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === "reading" || key === "examples") return [];
    return (key === "description" || key === "summary") && typeof inner === "string" ? [inner] : descriptions(inner);
  });
}
