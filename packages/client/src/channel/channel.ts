import type { CallOptions, Json } from "@parlance/contract";
import type { AnyContract, Input, Port } from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { type AnyChannel, type Link, link, PacedPort } from "@parlance/wire/link";
import { messageEncoder } from "@parlance/wire/message";
import { messageDecoder } from "@parlance/wire/message-decoder";
import { newKey, RESUME } from "@parlance/wire/resume-key";
import { timedOut, unloaded } from "../disconnected.js";
import { lifetime, within } from "../lifetime.js";
import {
  ANSWER_TIMEOUT,
  ANSWER_WITHIN,
  type ConnectOptions,
  MAX_MESSAGE_SIZE,
  MAX_QUEUED,
  rethrow,
} from "../options.js";
import type { Requests } from "../request.js";
import { firstOffer } from "./offer.js";
import { paceOf } from "./pace.js";
import { sockets } from "./socket.js";

export type OpenOptions = CallOptions & { readonly open?: Readonly<Record<string, Json>> };

/** Opens a channel: its socket, then the protocol's opening message. With a key, the channel is resumable. */
export async function openChannel(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  input: Input,
  { key = ticketKey(connection), open, headers, signal }: OpenOptions & { readonly key?: string | undefined },
): Promise<AnyChannel> {
  const { answerTimeout = ANSWER_TIMEOUT } = connection;
  const what = `${contract.name}.${name}`;
  const address = requests.url(bind(contract, name, input).target);
  const openSocket = sockets(contract, connection, what, address);
  const life = lifetime(connection.signal, signal);
  const linkOver = (port: Port): Link => linked(contract, connection, name, life.signal, port, open);

  async function resumed(): Promise<AnyChannel | undefined> {
    if (key === undefined) return undefined;
    const keyed = { Accept: "application/json", [RESUME]: key };
    const request = lifetime(life.signal);
    const answer = await firstOffer(requests, name, input, headers, keyed, request);
    if (!answer) return undefined;
    // Only a page whose server resumes loads what that needs, before the channel is open: after a cut, nothing may be there to load from.
    const { openResumable } = await import("./resumable.js").catch(unloaded);
    const paced = { pace: paceOf(connection), Paced: PacedPort };
    const options = { what, name, input, requests, headers, keyed, life, linkOver, openSocket, ...paced };
    return openResumable(options, answer, request);
  }

  async function plain(): Promise<AnyChannel> {
    const late = (limit: number) => () => timedOut(what, limit);
    const request = lifetime(life.signal);
    const own = await within(request, () => requests.headers(headers, request), answerTimeout, late(answerTimeout));
    const port = await within(request, () => openSocket(own, [], request), ANSWER_WITHIN, late(ANSWER_WITHIN));
    life.signal.throwIfAborted();
    return linkOver(port).channel;
  }

  try {
    const channel = (await resumed()) ?? (await plain());
    channel.closed.then(life.release, life.release);
    return channel;
  } catch (error) {
    life.abort(error);
    throw error;
  }
}

/** Whether to ask for a ticket on any origin. A page's WebSocket cannot carry a token; the ticket of a server that resumes replaces it. */
function ticketKey({ resume, token, webSocket }: ConnectOptions): string | undefined {
  return resume === undefined && token !== undefined && !webSocket ? newKey() : undefined;
}

/** Opens the client's side of a link over a port. The caller's signal ends it. */
function linked(
  contract: AnyContract,
  connection: ConnectOptions,
  channel: string,
  signal: AbortSignal,
  port: Port,
  open?: Readonly<Record<string, Json>>,
): Link {
  const described = contract.channels[channel]!;
  const made = link(contract, port, {
    channel,
    side: "client",
    encode: messageEncoder(contract, { side: "client", names: described.client, profile: connection.profile }),
    decode: messageDecoder(contract, {
      side: "server",
      names: described.server,
      checks: contract.checks,
      reads: contract.reads,
    }),
    maxSize: connection.maxMessageSize ?? MAX_MESSAGE_SIZE,
    maxQueued: connection.maxQueued ?? MAX_QUEUED,
    pace: paceOf(connection),
    onUnknown: connection.onUnknown,
    onViolation: connection.onViolation ?? rethrow,
  });
  signal.addEventListener("abort", () => made.fail(signal.reason, 1000, "aborted"));
  const opening = described.open?.client;
  try {
    if (opening !== undefined) made.channel.send({ ...open, type: opening });
  } catch (error) {
    made.fail(error, 1000, "not opened");
    throw error;
  }
  return made;
}
