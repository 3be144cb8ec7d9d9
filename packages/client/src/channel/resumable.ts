import type { ChannelOffer, Input, Port } from "@parlance/wire";
import type { AnyChannel, Link, Pace, PacedPort } from "@parlance/wire/link";
import { formatCursor, formatTicket, parseResumable } from "@parlance/wire/resume";
import { RESUME } from "@parlance/wire/resume-key";
import { cancel } from "../cancel.js";
import { timedOut } from "../disconnected.js";
import { type Lifetime, within } from "../lifetime.js";
import { ANSWER_WITHIN } from "../options.js";
import { readText } from "../read.js";
import { judge } from "../rejoin.js";
import { discard, type Requests } from "../request.js";
import { ReconnectingChannel } from "./reconnecting.js";

export interface Resumed {
  /** Names the channel in errors. */
  readonly what: string;
  readonly name: string;
  readonly input: Input;
  readonly requests: Requests;
  /** The caller's headers of this channel. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The headers that ask for an offer, with the channel's key. */
  readonly keyed: Readonly<Record<string, string>>;
  readonly life: Lifetime;
  readonly pace: Pace;
  readonly Paced: typeof PacedPort;
  readonly linkOver: (port: Port) => Link;
  readonly openSocket: (
    headers: Readonly<Record<string, string>>,
    protocols: string[],
    request: Lifetime,
  ) => Promise<Port>;
}

/**
 * Opens a channel with the server's first offer. Returns undefined where the answer is none. It is loaded once a server makes an offer.
 */
export async function openResumable(
  { what, name, input, requests, headers, keyed, life, linkOver, openSocket, ...paced }: Resumed,
  answer: Response,
  request: Lifetime,
): Promise<AnyChannel | undefined> {
  const { connection } = requests;
  const resumable = parseResumable(answer.headers.get(RESUME));
  if (!resumable) {
    discard(answer);
    return undefined;
  }
  const late = () => timedOut(what, ANSWER_WITHIN);
  const read = () => offerOf(requests, name, answer, request);
  // A body that was cut is requested again.
  let offer = await within(request, read, ANSWER_WITHIN, late).catch(() => undefined);
  request.release();
  life.signal.throwIfAborted();
  const { epoch, grace } = resumable;
  const { Authorization: _, ...own } = { ...connection.headers, ...headers } as Record<string, string>;
  const channel = new ReconnectingChannel({
    what,
    grace,
    connection,
    life,
    linkOver,
    ...paced,
    async openSocket(received, lost, request) {
      let at = offer;
      offer = undefined;
      if (!at) {
        const cursor = { "Last-Event-ID": formatCursor({ epoch, seq: received }) };
        const answer = await requests.ask("GET", name, input, headers, request, { ...keyed, ...cursor });
        const judged = judge(answer, lost);
        if (typeof judged === "number") return judged;
        at = await offerOf(requests, name, answer, request);
      }
      // The ticket replaces the token, which a browser cannot send.
      return at ? { port: await openSocket(own, [formatTicket(at.ticket)], request), received: at.received } : 0;
    },
    cancel: () => cancel(requests, name, input, headers, keyed),
  });
  return channel.open();
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
