import type { Context } from "../call.js";
import { STREAM_HEADERS } from "../http/response.js";
import type { StreamDelivery } from "../ports.js";
import { closing } from "../reason.js";
import { BlockWriter } from "./writer.js";

/** Delivers a stream to the requesting connection; the stream ends with its reader. */
export function directStreams({ contract, ledger, limits, ownerOf, shutdown }: Context): StreamDelivery {
  return {
    async deliver(called, _, call, produce) {
      const scope = call.child("streams");
      try {
        ledger.take(ownerOf(called.principal), "stream", scope);
        // A stream with an end of its own may finish while the app drains.
        const { end, sentinel } = contract.operations[called.operation]!.answer.stream!;
        if ((end ?? sentinel) === undefined) shutdown.onDrain(scope, () => scope.close(closing()));
        const production = await produce(scope);
        const reader = scope.child("readers");
        reader.add(() => scope.close(reader.reason));
        const body = new BlockWriter(production.blocks(), reader, { limits, headersDue: production.headersDue });
        return { status: 200, headers: STREAM_HEADERS, body };
      } catch (error) {
        scope.close(error);
        throw error;
      }
    },
  };
}
