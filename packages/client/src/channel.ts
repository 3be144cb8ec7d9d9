import type { CallOptions, Json } from "@parlance/contract";
import {
  type AnyContract,
  bind,
  Disconnected,
  type Input,
  type OpenSocket,
  unfault,
  type Violation,
} from "@parlance/wire";
import { type AnyChannel, link, socketPort } from "@parlance/wire/link";
import { type ConnectOptions, MAX_MESSAGE_SIZE, MAX_QUEUED } from "./options.js";
import { either, type Requests } from "./request.js";

export type OpenOptions = CallOptions & { readonly open?: Readonly<Record<string, Json>> };

/** Opens a channel: the socket, and the message that the protocol opens with. */
export async function openChannel(
  contract: AnyContract,
  connection: ConnectOptions,
  { headers, url }: Requests,
  name: string,
  input: Input,
  options: OpenOptions,
): Promise<AnyChannel> {
  const { webSocket = globalWebSocket, maxMessageSize = MAX_MESSAGE_SIZE, maxQueued = MAX_QUEUED } = connection;
  const { target } = bind(contract, name, input);
  const signal = either(connection.signal, options.signal);
  signal?.throwIfAborted();
  let port: Awaited<ReturnType<OpenSocket>>;
  try {
    port = await webSocket(url(target).replace(/^http/, "ws"), {
      headers: await headers(options),
      protocols: [],
      maxSize: maxMessageSize,
      signal,
    });
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof TypeError) throw cause;
    throw new Disconnected(`${contract.name}.${name}: no socket was opened at ${url(target)}`, {
      code: "unreachable",
      retryable: true,
      cause,
    });
  }
  if ("refused" in port) throw unfault(contract, port.refused.status, port.refused.body, port.refused.retryAfter);
  const { channel, fail } = link(contract, port, {
    channel: name,
    side: "client",
    profile: connection.profile,
    incoming: contract.checks,
    maxSize: maxMessageSize,
    maxQueued,
    onUnknown: connection.onUnknown,
    onViolation: connection.onViolation ?? rethrow,
  });
  signal?.addEventListener("abort", () => fail(signal.reason, 1000, "aborted"), { once: true });
  const opening = contract.channels[name]!.open?.client;
  if (opening !== undefined) channel.send({ ...options.open, type: opening });
  return channel;
}

function rethrow(violation: Violation): never {
  throw violation;
}

/** The WebSocket of a browser, or of a Node that has one. It cannot carry headers. */
const globalWebSocket: OpenSocket = (url, { headers, protocols }) =>
  new Promise((resolve, reject) => {
    if (typeof WebSocket === "undefined")
      throw new TypeError('this Node has no WebSocket: pass `webSocket` from "@parlance/client/node"');
    if (headers.Authorization !== undefined)
      throw new TypeError(
        "the WebSocket of a browser cannot carry a token: connect without one, or pass a `webSocket` that can",
      );
    const socket = new WebSocket(url, [...protocols]);
    socket.onopen = () => resolve(socketPort(socket));
    socket.onerror = () => reject(new Error("the WebSocket could not be opened"));
  });
