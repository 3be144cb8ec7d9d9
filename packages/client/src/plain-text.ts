import type { AnyContract } from "@parlance/wire";

/** A loopback address is for development, and nobody else reads what is sent to it. */
const LOOPBACK = /^(?:(?:[^.]+\.)*localhost|127(?:\.\d+){3}|\[::1\])$/;

const warned = new WeakSet<AnyContract>();

/** Warns once for each contract that a token is sent to another host in plain text. */
export function warnOfPlainText(contract: AnyContract, { protocol, hostname, origin }: URL): void {
  if (protocol !== "http:" || LOOPBACK.test(hostname) || warned.has(contract)) return;
  warned.add(contract);
  console.warn(
    `${contract.name}: the token for ${origin} is sent in plain text. Use https; http to another host is for development only.`,
  );
}
