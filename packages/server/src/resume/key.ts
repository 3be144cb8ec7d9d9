import type { Context } from "../call.js";
import { nameOf } from "../places.js";

/** The name of a resumable stream or channel: only the principal that began it can join it, for the same operation and path. */
export function conversationName(
  { contract, options }: Context,
  operation: string,
  pathname: string,
  principal: unknown,
  key: string,
): string {
  return JSON.stringify([contract.name, operation, pathname, nameOf(options, principal), key]);
}
