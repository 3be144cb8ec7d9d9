import type { ClientCase } from "../case.js";
import type { Kit } from "../kit.js";
import type { Lenient } from "../mutant.js";
import { transcriptCallsOf } from "../transcript-call.js";
import { carriedCases } from "./carried.js";
import { channelCases } from "./channels.js";
import { operationCases } from "./operations.js";
import { streamCases } from "./streams.js";
import { transcriptCase } from "./transcripts.js";

/** Every case that a contract gives for a client. */
export async function clientCases(kit: Kit, lenient: Lenient): Promise<ClientCase[]> {
  return [
    ...(await operationCases(kit, lenient)),
    ...carriedCases(kit),
    ...(await streamCases(kit, lenient)),
    ...(await channelCases(kit, lenient)),
    ...transcriptCallsOf(kit).flatMap((call) => transcriptCase(kit, call) ?? []),
  ];
}
