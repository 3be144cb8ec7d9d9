import { fileURLToPath } from "node:url";
import type { Checks, ContractDocument } from "@parlance/contract";
import { load } from "@parlance/contract/load";
import type { AnyContract } from "@parlance/wire";
import { agentsmithy } from "../src/agentsmithy.js";
import { based } from "../src/based.js";
import { emacsAgent } from "../src/emacs-agent.js";
import { foldGateway } from "../src/fold-gateway.js";
import { loco } from "../src/loco.js";

export interface Subject {
  readonly contract: AnyContract;
  readonly document: ContractDocument;
  /** Checks of what a client writes. */
  readonly accepts: Checks;
}

/** The five contracts, generated and as they were written. */
export const subjects: readonly Subject[] = await Promise.all(
  ([agentsmithy, based, emacsAgent, foldGateway, loco] as readonly AnyContract[]).map(async (contract) => ({
    contract,
    document: await load(fileURLToPath(new URL(`../../../schemas/${contract.name}`, import.meta.url))),
    accepts: (await contract.accepts()).checks,
  })),
);
