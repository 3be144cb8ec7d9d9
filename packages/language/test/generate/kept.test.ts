import { docs, generate } from "@parlance/language/generate";
import { assemble } from "@parlance/language/load";
import { expect, test } from "vitest";
import { pets } from "../pets.js";
import { everything } from "./everything.js";

// What is made of a contract with everything. JSON and TypeScript have another ending, so that they are no files of the project to any tool.

test.each(["md", "openapi.json", "asyncapi.json"])("its pets.%s is the one that is kept here", async (kind) => {
  const kept = kind.endsWith("json") ? `${kind}.txt` : kind;
  await expect(docs(assemble(pets(everything)))[`pets.${kind}`]).toMatchFileSnapshot(`./everything.${kept}`);
});

test("its types are those that are kept here", async () => {
  // A keyword of this name is for the reference alone.
  const known = { "said#/properties/more": { type: "array", items: { $ref: "word.json" } } };
  const made = await generate(assemble(pets({ ...everything, set: { ...everything.set, ...known } })));
  await expect(made["pets.ts"]).toMatchFileSnapshot("./everything.ts.txt");
});
