import type { ChannelOffer, Input, Resumable } from "@parlance/wire";
import { parseResumable, RESUME } from "@parlance/wire/resume";
import { timedOut } from "../disconnected.js";
import { type Lifetime, lifetime, pause, within } from "../lifetime.js";
import { ANSWER_WITHIN } from "../options.js";
import { readText } from "../read.js";
import { discard, type Fields, type Requests } from "../request.js";

/** Requests for an offer to an unreachable server, before its socket is tried without resume. */
const ASKED = 3;

/** Milliseconds before the second request; twice as many before the third. */
const AGAIN_AFTER = 100;

interface First {
  readonly resumable: Resumable;
  /** Undefined when the body was cut; the request is then repeated. */
  readonly offer: ChannelOffer | undefined;
}

/**
 * Asks whether a channel can be resumed. Only a server that knows Parlance answers with an offer.
 *
 * A server that answers without an offer, or never answers, is treated as its document specifies. A cut does not count as an answer.
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
      if (attempt > 0) await pause(AGAIN_AFTER * attempt, request);
      const answer = await requests.ask("GET", name, input, headers, request, keyed).catch(() => undefined);
      const resumable = answer?.ok ? parseResumable(answer.headers.get(RESUME)) : undefined;
      if (resumable) return { resumable, offer: await offerOf(requests, name, answer!, request) };
      if (answer) discard(answer);
      if (answer && !mayPass(answer)) return undefined;
    }
    return undefined;
  }
  const offered = await within(request, ask, ANSWER_WITHIN, () => timedOut(name, ANSWER_WITHIN)).catch(() => undefined);
  request.release();
  life.signal.throwIfAborted();
  return offered;
}

/**
 * Whether a repeated request may get an offer. A server that cannot reach its log or pub/sub answers 5xx; an HTTP parser answers a
 * request cut in transit with a 400 without a body. A plain WebSocket server's 400 has a body.
 */
function mayPass({ status, headers }: Response): boolean {
  return status >= 500 || (status === 400 && !headers.has("Content-Type"));
}

/** Parses an offer. Returns undefined for a cut body or one that is not an offer. */
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
