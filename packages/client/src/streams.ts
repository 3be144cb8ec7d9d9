import type { ContractValue } from "@parlance/wire";
import { client, type Parts } from "./client.js";
import { unloaded } from "./failures.js";
import { operations } from "./operation.js";
import type { ConnectOptions } from "./options.js";
import { openStream } from "./stream/open-stream.js";

export type { CallOptions, Channel, Closed, MessageStream, OpenSocket, ReopenOptions, Unknown } from "@parlance/wire";
export { Disconnected, Refusal, Violation } from "@parlance/wire/errors";
export type { ConnectOptions } from "./options.js";

/** In one file with what they share: a page that streams loads fewer bytes than in several files. */
const parts: Parts = {
  operations: async () => ({ operations }),
  streams: async () => ({ openStream }),
  channels: () => import("./channel/channel.js").catch(unloaded),
};

/** The same client as that of `connect` in `@parlance/client`, with the code of operations and streams at once. */
export function connect<Client>(contract: ContractValue<Client, unknown>, connection?: ConnectOptions): Client {
  return client(parts, contract, connection);
}
