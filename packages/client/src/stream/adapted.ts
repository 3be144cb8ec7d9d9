import type { AnyContract, AnyMessage } from "@parlance/wire";
import { mediaType } from "@parlance/wire/internal/http";
import { LineDecoder } from "@parlance/wire/lines";
import { unloaded } from "../failures.js";
import { type ConnectOptions, MAX_MESSAGE_SIZE } from "../options.js";
import type { Requests } from "../request.js";
import { discard } from "../response.js";
import { readHeaders } from "../transfer.js";
import type { Begin, Opening, StreamSource } from "./source.js";

/**
 * Opens a stream that is opened again or joined after a loss, whose answer has headers or may have no body, or whose messages are lines. A page
 * with other streams does not load this.
 */
export async function openAdapted(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  opening: Opening,
  begin: Begin,
): Promise<StreamSource<AnyMessage>> {
  const { status, none, headers: declared, stream } = contract.operations[name]!.answer;
  let isNone = false;
  let headers: Readonly<Record<string, unknown>> | undefined;
  const asking =
    (called: string, { ask }: Requests): Requests["ask"] =>
    async (...request) => {
      const response = await ask(...request);
      const { answer } = contract.operations[called]!;
      const { lines } = answer.stream!;
      const type = lines ?? "text/event-stream";
      isNone = response.status === answer.none;
      if (isNone) {
        discard(response);
        return new Response("", { headers: { "Content-Type": type } });
      }
      const isStream = response.ok && mediaType(response.headers.get("Content-Type")) === type;
      // Headers of a later join are not those of the stream.
      if (declared && isStream) headers ??= readHeaders(contract, name, response.headers);
      if (!lines || !isStream || !response.body) return response;
      return new Response(response.body.pipeThrough(asEvents(connection.maxMessageSize)), response);
    };
  // A stream that is nothing ends without one of its end messages.
  const sessionEnded = async () => isNone || opening.sessionEnded();
  const adapted: Begin = (how, connecting, given) => {
    const { name: called = name } = how;
    // Lines have no ids to be resumed by.
    const key = contract.operations[called]!.answer.stream!.lines && { key: undefined };
    return begin({ ...how, sessionEnded, ...key }, connecting, { ...given, ask: asking(called, given) });
  };
  const source = await opened();
  if (!declared && none === undefined) return source;
  const headed = source.opened.then(() =>
    isNone ? { status: none } : { ...(none !== undefined && { status }), ...(declared && { headers }) },
  );
  headed.catch(() => {});
  return {
    opened: headed,
    messages: source.messages,
    get cancelled() {
      return source.cancelled;
    },
    close: () => source.close(),
    text: (messages) => source.text(messages),
    failure: () => source.failure(),
  };

  async function opened(): Promise<StreamSource<AnyMessage>> {
    if (opening.options.reopen) {
      const { openAgain } = await import("./reopening.js").catch(unloaded);
      return openAgain(contract, connection, name, opening, (how, connecting) => adapted(how, connecting, requests));
    }
    if (!stream!.rejoin || connection.resume === false) return adapted({}, connection, requests);
    const { openJoined } = await import("./joining.js").catch(unloaded);
    return openJoined(contract, connection, requests, name, opening, adapted);
  }
}

/** Turns lines of JSON into events, which the rest of the client reads. */
function asEvents(maxSize = MAX_MESSAGE_SIZE): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new LineDecoder(maxSize);
  const encoder = new TextEncoder();
  const block = (lines: readonly string[]) => encoder.encode(lines.map((line) => `data: ${line}\n\n`).join(""));
  return new TransformStream({
    transform(bytes, controller) {
      const lines = decoder.decode(bytes);
      if (lines.length > 0) controller.enqueue(block(lines));
    },
    flush(controller) {
      // A line that is cut is left out; the stream then stops without it.
      const last = decoder.last();
      if (last !== undefined) controller.enqueue(block([last]));
    },
  });
}
