import type { ChannelOffer, Port } from "@parlance/wire";
import { Disconnected } from "@parlance/wire/errors";
import type { AnyChannel, Link } from "@parlance/wire/link";
import { formatCursor, formatTicket, parseGap, parseResumable, type Resumable } from "@parlance/wire/resume";
import { OFFER, RESUME } from "@parlance/wire/resume-key";
import { timedOut } from "../failures.js";
import { type Lifetime, lifetime, within } from "../lifetime.js";
import { ANSWER_WITHIN } from "../options.js";
import { cancel, readText } from "../read.js";
import { judge } from "../rejoin.js";
import type { Requests } from "../request.js";
import { discard } from "../response.js";
import { firstOffer, type Resumed } from "./offer.js";
import { ReconnectingChannel, type ReconnectingOptions } from "./reconnecting.js";
import type { SwitchPort } from "./switch.js";

/** Opens a channel with the server's first offer. Returns undefined where the answer is none. */
export async function openResumable(
  resumed: Resumed,
  answer: Response,
  request: Lifetime,
): Promise<AnyChannel | undefined> {
  const { what, name, requests, life } = resumed;
  const resumable = parseResumable(answer.headers.get(RESUME));
  if (!resumable) {
    discard(answer);
    return undefined;
  }
  const late = () => timedOut(what, ANSWER_WITHIN);
  const read = () => offerOf(requests, name, answer, request);
  // A body that was cut is requested again.
  const offer = await within(request, read, ANSWER_WITHIN, late).catch(() => undefined);
  request.release();
  life.signal.throwIfAborted();
  return new ReconnectingChannel(reconnectingOf(resumed, offer, resumable), resumable).open();
}

/** Lets an open, plain channel resume over its own socket. `times` are the server's answer to the page's question. */
export function goOn(resumed: Resumed, key: string, switched: SwitchPort, link: Link, times: string): void {
  switched.replace((paced) => {
    const channel = new ReconnectingChannel(reconnectingOf(resumed));
    channel.link(link);
    return channel.goOn(paced, key, parseResumable(times));
  });
}

/** What is assumed of a server that has not answered a key yet: it is asked for so many seconds. */
const UNKNOWN: Resumable = { epoch: OFFER, grace: 5, beat: 0 };

/** Begins a channel over a socket whose handshake carried the key. */
export function begin(resumed: Resumed, port: Port): AnyChannel {
  const channel = new ReconnectingChannel(reconnectingOf(resumed), UNKNOWN);
  return channel.link(resumed.linkOver(channel.begin(new resumed.Paced(port, resumed.pace))));
}

/**
 * Opens a channel whose handshake, with the key, was cut: the server may have begun it. It is asked for it by the key, and where it does not
 * know the key, the handshake is sent again. Rejects with the error of the handshake where the server does not know Parlance.
 */
export async function recover(resumed: Resumed, error: unknown, handshake: () => Promise<Port>): Promise<AnyChannel> {
  const { keyed, life } = resumed;
  if (!(error instanceof Disconnected && error.code === "unreachable" && error.retryable)) throw error;
  const request = lifetime(life.signal);
  const cursor = { "Last-Event-ID": formatCursor({ epoch: OFFER, seq: 0 }) };
  const unknown = { ...resumed, keyed: { ...keyed, ...cursor } };
  const { offer: answer } = await firstOffer(unknown, request, UNKNOWN.grace * 1000);
  if (answer?.ok) {
    const channel = await openResumable(resumed, answer, request);
    if (channel) return channel;
  }
  if (answer && parseGap(answer.headers.get(RESUME))) return begin(resumed, await handshake());
  throw error;
}

function reconnectingOf(
  { what, name, input, requests, headers, keyed, life, linkOver, openSocket, ...paced }: Resumed,
  offered?: ChannelOffer,
  known: Resumable = UNKNOWN,
): ReconnectingOptions {
  const { connection } = requests;
  const { Authorization: _, ...own } = { ...connection.headers, ...headers } as Record<string, string>;
  let offer = offered;
  let resumable = known;
  return {
    what,
    connection,
    life,
    linkOver,
    ...paced,
    async openSocket(epoch, received, lost, request) {
      let at = offer;
      offer = undefined;
      if (!at) {
        // Once one has answered, another of that key is a copy.
        const which = epoch === OFFER ? resumable.epoch : epoch;
        const cursor = { "Last-Event-ID": formatCursor({ epoch: which, seq: received }) };
        const answer = await requests.ask("GET", name, input, headers, request, { ...keyed, ...cursor });
        const judged = judge(answer, lost);
        if (typeof judged === "number") return judged;
        resumable = judged;
        at = await offerOf(requests, name, answer, request);
      }
      // The ticket replaces the token, which a browser cannot send.
      const port = at && (await openSocket(own, [formatTicket(at.ticket)], request));
      return port ? { port, received: at!.received, resumable } : 0;
    },
    cancel: () => cancel(requests, name, input, headers, keyed),
  };
}

/** Parses an offer. Returns undefined for a cut body or one that is not an offer. */
async function offerOf(
  requests: Requests,
  name: string,
  answer: Response,
  request: Lifetime,
): Promise<ChannelOffer | undefined> {
  try {
    const { ticket, received } = JSON.parse(await readText(requests, answer, name, request, true));
    return typeof ticket === "string" && Number.isSafeInteger(received) ? { ticket, received } : undefined;
  } catch {
    return undefined;
  }
}
