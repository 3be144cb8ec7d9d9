import type { Port } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import type { Called } from "../options.js";
import type { ChannelDelivery } from "../ports.js";
import { gone } from "../reason.js";

/** Holds the conversation of a call over a port. */
export type Converse = (called: Called, port: Port, scope: Scope) => Promise<void>;

/** Delivers a channel to the socket that asked for it: it ends with its socket. */
export function directChannels({ places, limits }: Context, converse: Converse): ChannelDelivery {
  return {
    offer: async () => undefined,
    redeem: async () => undefined,
    accept(called, call) {
      const scope = call.child("channels");
      scope.add(() => call.close());
      places.take(called.principal, "stream", scope);
      // A handshake that is never finished holds nothing.
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
