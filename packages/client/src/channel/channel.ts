import type { CallOptions, Json } from "@parlance/contract";
import {
  type AnyContract,
  bind,
  type ChannelOffer,
  Disconnected,
  formatTicket,
  type Input,
  messageDecoder,
  messageEncoder,
  type Port,
  parseResumable,
  RESUME,
  unfault,
} from "@parlance/wire";
import { type AnyChannel, type Link, link } from "@parlance/wire/link";
import { type Lifetime, lifetime, timedOut, within } from "../lifetime.js";
import {
  ANSWER_TIMEOUT,
  ANSWER_WITHIN,
  type ConnectOptions,
  MAX_MESSAGE_SIZE,
  MAX_QUEUED,
  rethrow,
} from "../options.js";
import { discard, type Requests } from "../request.js";
import { reconnecting } from "./reconnecting.js";
import { openPort } from "./socket.js";
import { globalWebSocket } from "./web-socket.js";

/** How often a server that cannot be reached is asked for a channel, before its socket is tried without resume. */
const ASKED = 3;

export type OpenOptions = CallOptions & { readonly open?: Readonly<Record<string, Json>> };

/** Opens a channel: the socket, and the message that the protocol opens with. With a key, one that survives its sockets. */
export async function openChannel(
  contract: AnyContract,
  connection: ConnectOptions,
  { ask, read, cancel, headers, url }: Requests,
  name: string,
  input: Input,
  { key, ...options }: OpenOptions & { readonly key?: string | undefined },
): Promise<AnyChannel> {
  const {
    webSocket = globalWebSocket,
    maxMessageSize = MAX_MESSAGE_SIZE,
    maxQueued = MAX_QUEUED,
    answerTimeout = ANSWER_TIMEOUT,
  } = connection;
  const { target } = bind(contract, name, input);
  const described = contract.channels[name]!;
  const what = `${contract.name}.${name}`;
  const keyed = { Accept: "application/json", [RESUME]: key! };
  const life = lifetime(connection.signal, options.signal);

  /** Asks whether and where the channel goes on. Only a server that knows Parlance answers with an offer. */
  const askOver = (cursor: Record<string, string>, request: Lifetime): Promise<Response> =>
    ask("GET", name, input, options.headers, request, { ...keyed, ...cursor });

  /** Reads an offer. Undefined where it was cut, or is none. */
  async function offerOf(answer: Response, request: Lifetime): Promise<ChannelOffer | undefined> {
    try {
      const { ticket, received } = JSON.parse(await read(answer, name, request, true));
      return typeof ticket === "string" && Number.isSafeInteger(received) ? { ticket, received } : undefined;
    } catch {
      return undefined;
    }
  }

  /** A cut is no answer: only a server that answers without an offer, or not at all, is one of the documents. */
  async function firstAnswer(request: Lifetime) {
    for (let attempt = 0; attempt < ASKED && !request.signal.aborted; attempt++) {
      const answer = await askOver({}, request).catch(() => undefined);
      const resumable = answer?.ok ? parseResumable(answer.headers.get(RESUME)) : undefined;
      if (resumable) return { resumable, first: await offerOf(answer!, request) };
      if (answer) return discard(answer);
    }
  }

  async function openSocket(
    own: Readonly<Record<string, string>>,
    protocols: string[],
    request: Lifetime,
  ): Promise<Port> {
    let port: Awaited<ReturnType<typeof openPort>>;
    try {
      const address = url(target).replace(/^http/, "ws");
      port = await openPort(webSocket, address, { headers: own, protocols, maxSize: maxMessageSize }, request);
    } catch (cause) {
      request.signal.throwIfAborted();
      // A mistake in the caller's code, such as no WebSocket at all: trying again would not help.
      if (cause instanceof TypeError) throw cause;
      throw new Disconnected(`${what}: no socket was opened at ${url(target)}`, {
        code: "unreachable",
        retryable: true,
        cause,
      });
    }
    if ("refused" in port) throw unfault(contract, port.refused.status, port.refused.body, port.refused.retryAfter);
    return port;
  }

  function linkOver(port: Port): Link {
    const linked = link(contract, port, {
      channel: name,
      side: "client",
      encode: messageEncoder(contract, { side: "client", names: described.client, profile: connection.profile }),
      decode: messageDecoder(contract, { side: "server", names: described.server, checks: contract.checks }),
      maxSize: maxMessageSize,
      maxQueued,
      onUnknown: connection.onUnknown,
      onViolation: connection.onViolation ?? rethrow,
    });
    life.signal.addEventListener("abort", () => linked.fail(life.signal.reason, 1000, "aborted"));
    linked.channel.closed.then(life.release, life.release);
    const opening = described.open?.client;
    try {
      if (opening !== undefined) linked.channel.send({ ...options.open, type: opening });
    } catch (error) {
      linked.fail(error, 1000, "not opened");
      throw error;
    }
    return linked;
  }

  const late = () => timedOut(what, ANSWER_WITHIN, true);
  try {
    let request = lifetime(life.signal);
    const offered =
      key === undefined
        ? undefined
        : await within(request, ANSWER_WITHIN, late, () => firstAnswer(request)).catch(() => undefined);
    life.signal.throwIfAborted();
    const { Authorization: _, ...plain } = { ...connection.headers, ...options.headers } as Record<string, string>;
    if (offered) {
      return await reconnecting({
        ...offered,
        what,
        connection,
        life,
        linkOver,
        ask: askOver,
        offerOf,
        // A ticket says who we are already, and a browser could not say it in a header.
        openSocket: (ticket, request) => openSocket(plain, [formatTicket(ticket)], request),
        cancel: () => cancel(name, input, options.headers, keyed),
      });
    }
    request = lifetime(life.signal);
    const own = await within(request, answerTimeout, late, () => headers(options.headers, request));
    const port = await within(request, ANSWER_WITHIN, late, () => openSocket(own, [], request));
    life.signal.throwIfAborted();
    return linkOver(port).channel;
  } catch (error) {
    life.abort(error);
    throw error;
  }
}
