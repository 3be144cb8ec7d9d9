import type { AnyContract, Input } from "@parlance/wire";
import { misuse } from "@parlance/wire/errors";
import { bindHeaders } from "@parlance/wire/header";
import type { ConnectOptions } from "./options.js";

/** Creates a request's headers: its header and cookie parameters, and the token where it is an API key. */
export function carrying(
  contract: AnyContract,
  { token, webSocket }: ConnectOptions,
  { Authorization, ...own }: Record<string, string>,
  operation: string | undefined,
  input: Input = {},
): Record<string, string> {
  const { header } = contract.auth ?? {};
  const isChannel = operation === undefined || operation in contract.channels;
  if (operation === undefined && header && token && !webSocket)
    throw misuse("a browser's WebSocket cannot carry an API key: pass a `webSocket` that can");
  const key = token && Authorization?.replace(/^Bearer /, "");
  const credentials = header && key ? { [header]: key } : Authorization !== undefined && { Authorization };
  const all = { ...own, ...credentials };
  return isChannel ? all : { ...bindHeaders(contract, operation, input, all) };
}
