import type { ServerCase } from "../case.js";
import type { Kit } from "../kit.js";
import type { Lenient } from "../mutant.js";
import { transcriptCallsOf } from "../transcript-call.js";
import { carriedCases } from "./carried.js";
import { channelCases } from "./channels.js";
import { exchangeCases } from "./exchanges.js";
import { operationCases } from "./operations.js";
import { requestCases } from "./requests.js";
import { resumeCases } from "./resume.js";
import { schemaCases } from "./schemas.js";
import { streamCases } from "./streams.js";
import { transcriptCase } from "./transcripts.js";

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
    ...transcriptCallsOf(kit).flatMap((call) => transcriptCase(kit, call) ?? []),
    ...resumeCases(kit),
  ];
}
