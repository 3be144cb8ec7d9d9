import type { ContractDocument } from "@parlance/wire";
import type { Case, ClientCase, ServerCase } from "./case.js";
import { clientCases } from "./client/cases.js";
import { lenientSamples } from "./mutant.js";
import { Samples, type ValueOf } from "./samples.js";
import { serverCases } from "./server/cases.js";

/** Every case that a contract's folder gives, for servers and for clients. Ids are unique. */
export interface Suite {
  readonly samples: Samples;
  readonly server: readonly ServerCase[];
  readonly client: readonly ClientCase[];
}

export async function suiteOf(document: ContractDocument, read: ValueOf): Promise<Suite> {
  const samples = await Samples.of(document, read);
  const lenient = lenientSamples(document, read);
  return {
    samples,
    server: unique(await serverCases(samples, lenient)),
    client: unique(await clientCases(samples, lenient)),
  };
}

/** Two places may give the same id, such as a schema that two members of a union share: the first stays. */
function unique<C extends Case>(cases: readonly C[]): C[] {
  return [...new Map([...cases].reverse().map((one) => [one.id, one])).values()].reverse();
}
