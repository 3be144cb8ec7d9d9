import type { ContractValue } from "@parlance/wire";
import { client, type Parts } from "./client.js";
import { unloaded } from "./failures.js";
import type { ConnectOptions } from "./options.js";

/** A page loads only what its conversations need: one that only streams never loads the code of channels. */
const parts: Parts = {
  operations: () => import("./operation.js").catch(unloaded),
  streams: () => import("./stream/open-stream.js").catch(unloaded),
  channels: () => import("./channel/channel.js").catch(unloaded),
};

/**
 * A typed client of a contract: one method for each operation and channel. Nothing is sent until a method is called.
 *
 * Errors: `Refusal` (the server refused), `Violation` (the contract was broken), `Disconnected` (no answer came, or a
 * stream stopped without one of its end messages).
 */
export function connect<Client>(contract: ContractValue<Client, unknown>, connection?: ConnectOptions): Client {
  return client(parts, contract, connection);
}
