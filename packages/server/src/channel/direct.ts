import type { Port } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import type { Called } from "../hooks.js";
import type { ChannelDelivery } from "../ports.js";
import { gone } from "../reason.js";

/** Runs the conversation of a call over a port. */
export type Converse = (called: Called, port: Port, scope: Scope) => Promise<void>;

/** Delivers a channel to the requesting socket; the channel ends with it. */
export function directChannels({ ledger, limits, ownerOf }: Context, converse: Converse): ChannelDelivery {
  return {
    offer: async () => undefined,
    redeem: async () => undefined,
    accept(called, call) {
      const scope = call.child("channels");
      scope.add(() => call.close());
      ledger.take(ownerOf(called.principal), "stream", scope);
      // Releases what an unfinished handshake holds.
      const opened = scope.timeout(limits.socketWithin, () => call.close(gone()));
      return {
        run(port) {
          opened();
          void converse(called, port, scope);
        },
      };
    },
  };
}
