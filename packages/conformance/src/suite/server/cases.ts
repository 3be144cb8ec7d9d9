import type { ServerCase } from "../case.js";
import type { Kit } from "../kit.js";
import type { Lenient } from "../mutant.js";
import { takesOf } from "../take.js";
import { carriedCases } from "./carried.js";
import { channelCases } from "./channels.js";
import { exchangeCases } from "./exchanges.js";
import { operationCases } from "./operations.js";
import { requestCases } from "./requests.js";
import { resumeCases } from "./resume.js";
import { schemaCases } from "./schemas.js";
import { streamCases } from "./streams.js";
import { takeCase } from "./takes.js";

/** Every case that a contract gives for a server. */
export async function serverCases(kit: Kit, lenient: Lenient): Promise<ServerCase[]> {
  return [
    ...operationCases(kit),
    ...carriedCases(kit),
    ...requestCases(kit),
    ...(await schemaCases(kit, lenient)),
    ...streamCases(kit),
    ...channelCases(kit),
    ...exchangeCases(kit),
    ...takesOf(kit).flatMap((take) => takeCase(kit, take) ?? []),
    ...resumeCases(kit),
  ];
}
