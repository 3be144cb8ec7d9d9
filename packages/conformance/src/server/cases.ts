import type { ServerCase } from "../case.js";
import type { Lenient } from "../mutant.js";
import type { Samples } from "../samples.js";
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
export async function serverCases(samples: Samples, lenient: Lenient): Promise<ServerCase[]> {
  return [
    ...operationCases(samples),
    ...carriedCases(samples),
    ...requestCases(samples),
    ...(await schemaCases(samples, lenient)),
    ...streamCases(samples),
    ...channelCases(samples),
    ...exchangeCases(samples),
    ...transcriptCallsOf(samples).flatMap((call) => transcriptCase(samples, call) ?? []),
    ...resumeCases(samples),
  ];
}
