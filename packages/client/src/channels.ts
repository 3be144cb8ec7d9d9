import type { ContractValue } from "@parlance/wire";
import { openChannel } from "./channel/channel.js";
import { client, type Parts } from "./client.js";
import { unloaded } from "./failures.js";
import type { ConnectOptions } from "./options.js";

export type { CallOptions, Channel, Closed, MessageStream, OpenSocket, ReopenOptions, Unknown } from "@parlance/wire";
export { Disconnected, Refusal, Violation } from "@parlance/wire/errors";
export type { ConnectOptions } from "./options.js";

/** In one file with what they share: a page that opens channels loads fewer bytes than in several files. */
const parts: Parts = {
  operations: () => import("./operation.js").catch(unloaded),
  streams: () => import("./stream/open-stream.js").catch(unloaded),
  channels: async () => ({ openChannel }),
};

/** The same client as that of `connect` in `@parlance/client`, with the code of channels at once. */
export function connect<Client>(contract: ContractValue<Client, unknown>, connection?: ConnectOptions): Client {
  return client(parts, contract, connection);
}
