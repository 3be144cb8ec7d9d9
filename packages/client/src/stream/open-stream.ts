import type { AnyContract, AnyMessage } from "@parlance/wire";
import { parseGap, RESUME } from "@parlance/wire/resume";
import { cancel } from "../cancel.js";
import { gap } from "../disconnected.js";
import type { StreamSource } from "../lazy.js";
import { coded, lifetime } from "../lifetime.js";
import type { operations } from "../operation.js";
import type { ConnectOptions } from "../options.js";
import { discard, type Requests } from "../request.js";
import { buffer } from "./buffer.js";
import type { Begin, Opening } from "./opening.js";
import { StreamReader } from "./stream.js";
import { textOf } from "./text.js";

/**
 * Sends an operation whose answer is a stream. With the option `reopen` it is sent again after each loss. `operate` is `operations`: imported
 * here too, it would be loaded twice by a page whose bundler copies shared modules.
 */
export async function openStream(
  operate: typeof operations,
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  opening: Opening,
): Promise<StreamSource<AnyMessage>> {
  const begin: Begin = (how, connecting) =>
    openOnce(operate, contract, connecting, requests, name, { ...opening, ...how });
  if (!opening.options.reopen) return begin({}, connection);
  // Only a page that opens streams again loads what that needs.
  const { openAgain } = await import("./reopening.js");
  return openAgain(contract, connection, name, opening, begin, buffer);
}

function openOnce(
  operate: typeof operations,
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  { input, options: { headers, signal }, key, sessionEnded, over }: Opening,
): StreamSource<AnyMessage> {
  const { ask } = requests;
  const what = `${contract.name}.${name}`;
  const { send } = operate(contract, connection, {
    ...requests,
    async ask(...request) {
      const response = await ask(...request);
      const missing = key && parseGap(response.headers.get(RESUME));
      if (!missing) return response;
      discard(response);
      throw gap(what, missing);
    },
  });
  const { path, answer } = contract.operations[name]!;
  const stream = answer.stream!;
  const keyed = key === undefined ? undefined : { [RESUME]: key };
  // A server without Parlance may have an operation of its own for this DELETE.
  const deletes = Object.values(contract.operations).some((one) => one.method === "DELETE" && one.path === path);
  const reader = new StreamReader(contract, connection, name, {
    what,
    stream,
    life: lifetime(connection.signal, signal),
    send: (request) => send(name, input, headers, request, keyed),
    join: keyed && ((cursor, request) => ask("GET", name, input, headers, request, { ...keyed, ...cursor })),
    abandon(answered) {
      if (keyed && (answered || !deletes)) cancel(requests, name, input, headers, keyed);
    },
    sessionEnded,
    over,
  });
  const { messages, opened } = reader;
  let cancelled: unknown;
  return {
    opened,
    messages,
    get cancelled() {
      return cancelled !== undefined;
    },
    close() {
      const reason = coded(new DOMException("the stream was cancelled", "AbortError"));
      if (!messages.drained) cancelled = reason;
      messages.clear();
      reader.close({}, reason, true);
    },
    async text(read) {
      const text = await textOf(contract, name, stream, read);
      // What came before the cancel is not the text.
      if (cancelled) throw cancelled;
      return text;
    },
  };
}
