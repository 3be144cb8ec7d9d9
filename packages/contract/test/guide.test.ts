import { readFileSync } from "node:fs";
import type { SchemaObject } from "@parlance/contract";
import { contractSchema } from "@parlance/contract/lint";
import { subschemas } from "@parlance/contract/schema";
import { expect, test } from "vitest";

const guide = readFileSync(new URL("../../../docs/contract.md", import.meta.url), "utf8");
const places = [...subschemas(contractSchema as SchemaObject)];

test("the guide has every keyword of the language", () => {
  const keywords = new Set(
    places.flatMap(({ schema }) => Object.keys((schema.properties as object | undefined) ?? {})),
  );
  const named = new Set([...guide.matchAll(/[`"]([$\w]+)[`"]/g)].map(([, word]) => word));
  expect([...keywords].filter((word) => !named.has(word))).toEqual([]);
});

test("the guide's examples are JSON", () => {
  const fences = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => text!);
  expect(fences.length).toBeGreaterThan(3);
  for (const text of fences) expect(() => JSON.parse(text), text).not.toThrow();
});

test("every keyword has a description that an editor shows", () => {
  const bare = places.flatMap(({ schema, pointer }) =>
    Object.entries((schema.properties as Record<string, SchemaObject> | undefined) ?? {})
      .filter(([, one]) => typeof one === "object" && one.description === undefined && !("const" in one))
      .map(([name]) => `${pointer}/${name}`),
  );
  expect(bare.filter((place) => !/\/(?:if|then|else|oneOf)\b/.test(place))).toEqual([]);
});
