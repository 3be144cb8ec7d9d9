import type { AnyContract, CallOptions, Input, Json, Port } from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { notify } from "@parlance/wire/errors";
import { type AnyChannel, type Link, link, PacedPort } from "@parlance/wire/link";
import { messageEncoder } from "@parlance/wire/message";
import { messageDecoder } from "@parlance/wire/message-decoder";
import { newKey, RESUME } from "@parlance/wire/resume-key";
import type { RpcHandlers } from "@parlance/wire/rpc";
import { timedOut, unloaded } from "../failures.js";
import { lifetime, within } from "../lifetime.js";
import {
  ANSWER_TIMEOUT,
  ANSWER_WITHIN,
  type ConnectOptions,
  MAX_MESSAGE_SIZE,
  MAX_QUEUED,
  paceOf,
  rethrow,
} from "../options.js";
import type { Fields, Requests } from "../request.js";
import { firstOffer, forget, type Resumed, resumesAt } from "./offer.js";
import { sockets } from "./socket.js";
import { switchPort } from "./switch.js";

export type OpenOptions = CallOptions & {
  readonly open?: Readonly<Record<string, Json>>;
  /** The handlers of a channel with methods. */
  readonly handlers?: RpcHandlers | undefined;
};

/** Opens a channel: its socket, then the protocol's opening message. With a key, the channel is resumable. */
export async function openChannel(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  input: Input,
  { key = ticketKey(connection), open, handlers, headers, signal }: OpenOptions & { readonly key?: string | undefined },
): Promise<AnyChannel> {
  const { answerTimeout = ANSWER_TIMEOUT, webSocket, token } = connection;
  const what = `${contract.name}.${name}`;
  const address = requests.url(bind(contract, name, input).target);
  const openSocket = sockets(contract, connection, what, address);
  const life = lifetime(connection.signal, signal);
  const pace = paceOf(connection);
  // Only a page that speaks a protocol with methods loads what they need.
  const methods = handlers && (await import("./methods.js").catch(unloaded));
  const linkOver = (port: Port): Link =>
    methods
      ? methods.linkMethods(contract, connection, name, life.signal, port, handlers!)
      : linked(contract, connection, name, life.signal, port, open);
  const keyed = { Accept: "application/json", [RESUME]: key ?? "" };
  const resumed = {
    contract,
    what,
    name,
    input,
    requests,
    headers,
    keyed,
    life,
    linkOver,
    openSocket,
    pace,
    Paced: PacedPort,
  };

  const ticketed = () => openTicketed(resumed, plain);
  const asking = (key: string) => openAsking(resumed, key, () => socket(undefined));
  const plain = async (): Promise<AnyChannel> => linkOver(await socket(undefined)).channel;

  async function socket(extra: Fields): Promise<Port> {
    const late = (limit: number) => () => timedOut(what, limit);
    const request = lifetime(life.signal);
    const own = await within(request, () => requests.headers(headers, request), answerTimeout, late(answerTimeout));
    const all = { ...own, ...extra };
    const port = await within(request, () => openSocket(all, [], request), ANSWER_WITHIN, late(ANSWER_WITHIN));
    life.signal.throwIfAborted();
    return port;
  }

  /** Opens a channel whose socket carries the key in a header. A server that resumes answers with its first frame. */
  async function withHeader(key: string): Promise<AnyChannel> {
    const code = await import("./resumable.js").catch(() => undefined);
    if (!code) return plain();
    const handshake = () => socket({ [RESUME]: key });
    return handshake().then(
      (port) => code.begin(resumed, port),
      (error) => code.recover(resumed, error, handshake),
    );
  }

  const how = key === undefined ? plain : webSocket ? withHeader : token === undefined ? asking : ticketed;
  try {
    const channel = await how(key!);
    channel.closed.then(life.release, life.release);
    notifyEnd(connection, what, channel.closed);
    return channel;
  } catch (error) {
    life.abort(error);
    notifyEnd(connection, what, Promise.reject(error));
    throw error;
  }
}

/** Opens a channel plainly, and asks beside it whether the server resumes: a page's socket carries no header. */
async function openAsking(resumed: Resumed, key: string, socket: () => Promise<Port>): Promise<AnyChannel> {
  const { requests, name, input, headers, pace, linkOver } = resumed;
  const answer = resumesAt(requests, name, input, headers);
  const port = await socket().catch((error) => {
    forget(requests);
    throw error;
  });
  const switched = switchPort(new PacedPort(port, pace));
  const made = linkOver(switched);
  // Only a page whose server resumes loads what that needs, before a cut: then, nothing may be there to load from.
  const resume = async (times: string | undefined) =>
    times && (await import("./resumable.js")).goOn(resumed, key, switched, made, times);
  // Without that code the channel stays plain.
  answer.then(resume).catch(() => {});
  return made.channel;
}

/** Opens a page's channel with a ticket, because its socket cannot carry the token. */
async function openTicketed(resumed: Resumed, plain: () => Promise<AnyChannel>): Promise<AnyChannel> {
  const request = lifetime(resumed.life.signal);
  const { offer, failed } = await firstOffer(resumed, request);
  const code = offer && (await import("./resumable.js").catch(unloaded));
  const channel = await code?.openResumable(resumed, offer!, request);
  // A socket without the ticket cannot carry the token either: then the server's reason counts.
  return channel ?? plain().catch((error) => Promise.reject((error.code === "usage" && failed) || error));
}

function notifyEnd({ onConnection }: ConnectOptions, call: string, over: Promise<unknown>): void {
  // A callback that fails now has nothing to end.
  const ended = (how: { readonly error?: unknown }) => notify(onConnection, { call, type: "ended", ...how }, () => {});
  over.then(
    () => ended({}),
    (error: unknown) => ended({ error }),
  );
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
