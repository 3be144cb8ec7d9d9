import type { AnyContract } from "@parlance/wire";
import { isLoopback } from "@parlance/wire/internal/http";

const warned = new WeakSet<AnyContract>();

/** Warns once for each contract that a token is sent to another host in plain text. */
export function warnOfPlainText(contract: AnyContract, { protocol, hostname, origin }: URL): void {
  // Nobody else reads what is sent to a loopback address.
  if (protocol !== "http:" || isLoopback(hostname) || warned.has(contract)) return;
  warned.add(contract);
  console.warn(
    `${contract.name}: the token for ${origin} is sent in plain text. Use https; http to another host is for development only.`,
  );
}
