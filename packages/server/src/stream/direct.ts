import type { Scope } from "@parlance/wire/scope";
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
        const owner = ownerOf(called.principal);
        ledger.take(owner, "stream", scope);
        // A stream with an end of its own may finish while the app drains.
        const { end, sentinel } = contract.operations[called.operation]!.answer.stream!;
        if ((end ?? sentinel) === undefined) shutdown.onDrain(scope, () => scope.close(closing()));
        const production = await produce(scope);
        const reader = scope.child("readers");
        reader.add(() => scope.close(reader.reason));
        const { headersDue } = production;
        const held = (of: Scope) => ledger.held(owner, of);
        const body = new BlockWriter(production.blocks(), reader, { limits, held, headersDue });
        return { status: 200, headers: STREAM_HEADERS, body };
      } catch (error) {
        scope.close(error);
        throw error;
      }
    },
  };
}
