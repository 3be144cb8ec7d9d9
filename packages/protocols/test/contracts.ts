import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import type { Accepts, AnyContract, ContractDocument } from "@parlance/wire";

export interface Subject {
  readonly contract: AnyContract;
  readonly document: ContractDocument;
  /** How what a client writes is checked and read. */
  readonly accepts: Accepts;
}

const names = readdirSync(new URL("../src", import.meta.url))
  .filter((file) => !/\.(accepts|examples|validators)\.ts$/.test(file))
  .map((file) => file.slice(0, -".ts".length));

/** Every contract that is shipped, generated and as it was written. */
export const subjects: readonly Subject[] = await Promise.all(
  names.map(async (name) => {
    const module: Record<string, AnyContract> = await import(`../src/${name}.ts`);
    const contract = Object.values(module).find((value) => value.name === name)!;
    const folder = fileURLToPath(new URL(`../../../schemas/${name}`, import.meta.url));
    return { contract, document: await load(folder), accepts: await contract.accepts() };
  }),
);
