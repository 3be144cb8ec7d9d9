import type { AnyContract, AnyMessage } from "@parlance/wire";
import { mediaType } from "@parlance/wire/internal/http";
import { unloaded } from "../failures.js";
import type { ConnectOptions } from "../options.js";
import type { Requests } from "../request.js";
import { readHeaders } from "../transfer.js";
import type { Begin, Opening, StreamSource } from "./source.js";

/** Opens a stream that is opened again after each loss, or whose answer has headers. A page with other streams does not load this. */
export async function openAdapted(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  opening: Opening,
  begin: Begin,
): Promise<StreamSource<AnyMessage>> {
  const { headers: declared } = contract.operations[name]!.answer;
  let headers: Readonly<Record<string, unknown>> | undefined;
  const ask: Requests["ask"] = async (...request) => {
    const response = await requests.ask(...request);
    const isStream = response.ok && mediaType(response.headers.get("Content-Type")) === "text/event-stream";
    // Headers of a later join are not those of the stream.
    if (declared && isStream) headers ??= readHeaders(contract, name, response.headers);
    return response;
  };
  const beginAdapted = (how: Partial<Opening>, connecting: ConnectOptions) =>
    begin(how, connecting, { ...requests, ask });
  const source = opening.options.reopen
    ? (await import("./reopening.js").catch(unloaded)).openAgain(contract, connection, name, opening, beginAdapted)
    : beginAdapted({}, connection);
  if (!declared) return source;
  const opened = source.opened.then(() => ({ headers }));
  opened.catch(() => {});
  return {
    opened,
    messages: source.messages,
    get cancelled() {
      return source.cancelled;
    },
    close: () => source.close(),
    text: (messages) => source.text(messages),
    failure: () => source.failure(),
  };
}
