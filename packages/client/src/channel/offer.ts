import { type ChannelOffer, type Input, parseResumable, RESUME, type Resumable } from "@parlance/wire";
import { timedOut } from "../disconnected.js";
import { type Lifetime, lifetime, within } from "../lifetime.js";
import { ANSWER_WITHIN } from "../options.js";
import { readText } from "../read.js";
import { discard, type Fields, type Requests } from "../request.js";

/** How often a server that cannot be reached is asked for a channel, before its socket is tried without resume. */
const ASKED = 3;

interface First {
  readonly resumable: Resumable;
  /** Undefined where the body was cut: the server is asked again. */
  readonly offer: ChannelOffer | undefined;
}

/**
 * Asks whether a channel can be resumed. Only a server that knows Parlance answers with an offer.
 *
 * A cut is no answer: a server that answers without an offer, or not at all, is one of the documents.
 */
export async function firstOffer(
  requests: Requests,
  name: string,
  input: Input,
  headers: Fields,
  keyed: Fields,
  life: Lifetime,
): Promise<First | undefined> {
  const request = lifetime(life.signal);
  async function ask(): Promise<First | undefined> {
    for (let attempt = 0; attempt < ASKED && !request.signal.aborted; attempt++) {
      const answer = await requests.ask("GET", name, input, headers, request, keyed).catch(() => undefined);
      const resumable = answer?.ok ? parseResumable(answer.headers.get(RESUME)) : undefined;
      if (resumable) return { resumable, offer: await offerOf(requests, name, answer!, request) };
      if (answer) return void discard(answer);
    }
    return undefined;
  }
  const offered = await within(request, ask, ANSWER_WITHIN, () => timedOut(name, ANSWER_WITHIN)).catch(() => undefined);
  request.release();
  life.signal.throwIfAborted();
  return offered;
}

/** Reads an offer. Undefined where it was cut, or is none. */
export async function offerOf(
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
