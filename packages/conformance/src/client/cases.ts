import type { ClientCase } from "../case.js";
import type { Lenient } from "../mutant.js";
import type { Samples } from "../samples.js";
import { transcriptCallsOf } from "../transcript-call.js";
import { carriedCases } from "./carried.js";
import { channelCases } from "./channels.js";
import { operationCases } from "./operations.js";
import { streamCases } from "./streams.js";
import { transcriptCase } from "./transcripts.js";

/** Every case that a contract gives for a client. */
export async function clientCases(samples: Samples, lenient: Lenient): Promise<ClientCase[]> {
  return [
    ...(await operationCases(samples, lenient)),
    ...carriedCases(samples),
    ...(await streamCases(samples, lenient)),
    ...(await channelCases(samples, lenient)),
    ...transcriptCallsOf(samples).flatMap((call) => transcriptCase(samples, call) ?? []),
  ];
}
