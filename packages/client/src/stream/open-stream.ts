import type { AnyContract, AnyMessage, Refusal, Stream } from "@parlance/wire";
import { misuse } from "@parlance/wire/errors";
import { RESUME } from "@parlance/wire/resume-key";
import { unloaded, unloadedLate } from "../failures.js";
import { coded, type Lifetime, lifetime } from "../lifetime.js";
import { operations } from "../operation.js";
import type { ConnectOptions } from "../options.js";
import { cancel } from "../read.js";
import type { Fields, Requests } from "../request.js";
import type { Begin, Opening, StreamSource } from "./source.js";
import { StreamReader } from "./stream.js";

/** Sends an operation whose answer is a stream. With the option `reopen` it is sent again after each loss; its answer may have headers. */
export async function openStream(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  opening: Opening,
): Promise<StreamSource<AnyMessage>> {
  const begin: Begin = (how, connecting, asking) =>
    openOnce(contract, connecting, asking, { name, ...opening, ...how });
  if (!opening.options.reopen && !contract.operations[name]!.transfer) return begin({}, connection, requests);
  // Only a page with such a stream loads what that needs.
  const { openAdapted } = await import("./adapted.js").catch(unloaded);
  return openAdapted(contract, connection, requests, name, opening, begin);
}

function openOnce(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  { name, input, options: { headers, signal }, key, sessionEnded, over }: Opening & { readonly name: string },
): StreamSource<AnyMessage> {
  const { ask } = requests;
  const what = `${contract.name}.${name}`;
  const { send } = operations(contract, connection, {
    ...requests,
    async ask(...request) {
      const response = await ask(...request);
      if (key && !response.ok && response.headers.has(RESUME)) (await resuming()).assertKept(what, response);
      return response;
    },
  });
  const { path, answer } = contract.operations[name]!;
  const stream = answer.stream!;
  const keyed = key === undefined ? undefined : { [RESUME]: key };
  // A server without Parlance may have an operation of its own for this DELETE.
  const deletes = Object.values(contract.operations).some((one) => one.method === "DELETE" && one.path === path);
  const life = lifetime(connection.signal, signal);
  // Only a page whose server resumes loads what that needs.
  const resuming = () => import("./resuming.js").catch(unloadedLate);
  const reader = new StreamReader(contract, connection, name, {
    what,
    stream,
    life,
    send: (request) => send(name, input, headers, request, keyed),
    resume:
      keyed &&
      (async (fail) => {
        const join = (cursor: Fields, request: Lifetime) =>
          ask("GET", name, input, headers, request, { ...keyed, ...cursor });
        return (await resuming()).resuming({ what, connection, life, join, fail });
      }),
    abandon(offered) {
      if (keyed && (offered || !deletes)) cancel(requests, name, input, headers, keyed);
    },
    sessionEnded,
    over,
  });
  const { messages, opened, last } = reader;
  let cancelled: unknown;
  async function failure(): Promise<Refusal | undefined> {
    return last.failure && (await import("../causes.js").catch(unloadedLate)).unfaultMessage(contract, last.failure);
  }
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
      const refusal = await failure();
      if (refusal) throw refusal;
      return text;
    },
    failure,
  };
}

/** Reads a stream's text as its contract defines it. An empty final text is ignored, because servers send one after streaming text. */
export async function textOf(
  contract: AnyContract,
  name: string,
  stream: Stream,
  messages: AsyncIterable<AnyMessage>,
): Promise<string> {
  const { append, final = {} } = stream.text ?? {};
  if (!append) throw misuse(`${contract.name}.${name} has no text: read its messages`);
  const parts: string[] = [];
  let whole: string | undefined;
  for await (const message of messages) {
    const fields = message as unknown as Record<string, string>;
    const { type } = message;
    // A message may have a name that every object inherits, such as "constructor".
    if (Object.hasOwn(append, type)) parts.push(fields[append[type]!]!);
    else if (Object.hasOwn(final, type)) whole = fields[final[type]!];
  }
  return whole || parts.join("");
}
