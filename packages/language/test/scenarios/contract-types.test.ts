import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import { describe, expect, it } from "vitest";
import { contractTypes, strays } from "../contract-types.js";

const path = (relative: string) => fileURLToPath(new URL(`../../../../${relative}`, import.meta.url));
const contracts = readdirSync(path("schemas"), { withFileTypes: true }).filter((entry) => entry.isDirectory());

describe("the types of a contract in wire", () => {
  // `vitest run packages/language/test/scenarios/contract-types.test.ts -u` writes the file.
  it("are those of contract.schema.json", async () => {
    const biome = path("node_modules/@biomejs/biome/bin/biome");
    const formatted = execFileSync(process.execPath, [biome, "format", "--stdin-file-path=contract.ts"], {
      input: contractTypes(),
      encoding: "utf8",
    });
    await expect(formatted).toMatchFileSnapshot("../../../wire/src/contract/contract.ts");
  });

  it.each(contracts.map(({ name }) => name))("have every property of %s once it is loaded", async (name) => {
    const { contract } = await load(path(`schemas/${name}`));
    expect(strays(contract)).toEqual([]);
  });

  it("do not have what loading leaves to the source", async () => {
    const { source } = await load(path("schemas/emacs-agent"));
    expect(strays(source)).toEqual(expect.arrayContaining(["/title", "/operations/prompt/summary"]));
  });
});
