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
  Refusal,
  unfault,
  type Violation,
} from "@parlance/wire";
import { type AnyChannel, link } from "@parlance/wire/link";
import { type ConnectOptions, MAX_MESSAGE_SIZE, MAX_QUEUED } from "./options.js";
import { ANSWER_WITHIN, within } from "./pause.js";
import { either, type Requests } from "./request.js";
import { globalWebSocket } from "./web-socket.js";

/** How often a server that cannot be reached is asked for a channel, before its socket is tried without resume. */
const ASKED = 3;

export type OpenOptions = CallOptions & { readonly open?: Readonly<Record<string, Json>> };

/** Opens a channel: the socket, and the message that the protocol opens with. With a key, one that survives its sockets. */
export async function openChannel(
  contract: AnyContract,
  connection: ConnectOptions,
  { ask, headers, url }: Requests,
  name: string,
  input: Input,
  { key, ...options }: OpenOptions & { readonly key?: string | undefined },
): Promise<AnyChannel> {
  const { webSocket = globalWebSocket, maxMessageSize = MAX_MESSAGE_SIZE, maxQueued = MAX_QUEUED } = connection;
  const { target } = bind(contract, name, input);
  const described = contract.channels[name]!;
  const signal = either(connection.signal, options.signal);
  signal?.throwIfAborted();

  let offer: ChannelOffer | undefined;

  /** Says the key over HTTP. Only a server that knows Parlance knows what to do with it. */
  function say(method: string, cursor: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    return ask(method, name, input, {
      headers: { ...options.headers, Accept: "application/json", [RESUME]: key!, ...cursor },
      signal,
    });
  }

  /** Asks where the server is with this channel. */
  async function askOver(cursor: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const answer = await say("GET", cursor, signal);
    // The answer itself may be cut, or stand still.
    offer = resumableOf(answer) && (await answer.json().catch(() => undefined));
    return answer;
  }

  /** Ends a conversation whose server would wait for us. */
  function leave(): void {
    say("DELETE", {}).catch(() => {});
  }

  function resumableOf(answer: Response | undefined) {
    return answer?.ok ? parseResumable(answer.headers.get(RESUME)) : undefined;
  }

  async function openSocket(ticket?: string): Promise<Port> {
    const { Authorization, ...rest } = await headers(options);
    const protocols = ticket === undefined ? [] : [formatTicket(ticket)];
    // A ticket says who we are already, and a browser could not say it in a header.
    const said = ticket === undefined && Authorization !== undefined ? { ...rest, Authorization } : rest;
    let port: Awaited<ReturnType<typeof webSocket>>;
    try {
      port = await within(ANSWER_WITHIN, signal, async (signal) => {
        const address = url(target).replace(/^http/, "ws");
        const opened = await webSocket(address, { headers: said, protocols, maxSize: maxMessageSize, signal });
        // Too late, by a `webSocket` that does not heed the signal.
        if (signal.aborted && !("refused" in opened)) opened.close(1000, "");
        return opened;
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
    return port;
  }

  /** A server that has offered may have begun already when its socket is cut: it is asked again, with the same key. */
  async function firstSocket(): Promise<Port | undefined> {
    if (!resumable) return openSocket();
    if (!offer) return undefined;
    return openSocket(offer.ticket).catch((error: unknown) => {
      // 426: some proxy has used the ticket already.
      if (!(error instanceof Disconnected || (error instanceof Refusal && error.status === 426))) throw error;
      return undefined;
    });
  }

  /** A cut is no answer: only a server that says something else than an offer, or nothing, is one of the documents. */
  async function firstAnswer(signal: AbortSignal): Promise<Response | undefined> {
    for (let attempt = 0; attempt < ASKED && !signal.aborted; attempt++) {
      const answer = await askOver({}, signal).catch(() => undefined);
      if (answer) return answer;
    }
    return undefined;
  }

  const answer =
    key === undefined ? undefined : await within(ANSWER_WITHIN, signal, firstAnswer).catch(() => undefined);
  signal?.throwIfAborted();
  const resumable = resumableOf(answer);
  if (!resumable) answer?.body?.cancel().catch(() => {});
  const socket = await firstSocket().catch((error: unknown) => {
    // It may have begun all the same, and would wait for us.
    if (resumable) leave();
    throw error;
  });
  const port = resumable
    ? (await import("./lasting.js")).lasting(socket, {
        what: `${contract.name}.${name}`,
        epoch: resumable.epoch,
        askOver,
        offer: () => offer,
        leave,
        openSocket,
        connection,
        signal,
        onLost: (error) => linked.fail(error, 1000, "not joined again"),
        unconfirmed: () => linked.unconfirmed(),
      })
    : socket!;
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
  const onAbort = () => linked.fail(signal!.reason, 1000, "aborted");
  signal?.addEventListener("abort", onAbort, { once: true });
  linked.channel.closed.catch(() => {}).finally(() => signal?.removeEventListener("abort", onAbort));
  const opening = described.open?.client;
  if (opening !== undefined) linked.channel.send({ ...options.open, type: opening });
  return linked.channel;
}

function rethrow(violation: Violation): never {
  throw violation;
}
