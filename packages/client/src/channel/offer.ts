import type { Input } from "@parlance/wire";
import { RESUME } from "@parlance/wire/resume-key";
import { timedOut } from "../disconnected.js";
import { type Lifetime, pause, within } from "../lifetime.js";
import { ANSWER_WITHIN } from "../options.js";
import { discard, type Fields, type Requests } from "../request.js";

/** Requests for an offer to an unreachable server, before its socket is tried without resume. */
const ASKED = 3;

/** Milliseconds before the second request; twice as many before the third. */
const AGAIN_AFTER = 100;

/**
 * Asks whether a channel can be resumed. Only a server that knows Parlance answers with an offer. The body of its answer is not read.
 *
 * A server that answers without an offer, or never answers, is treated as its document specifies. A cut does not count as an answer.
 */
export function firstOffer(
  requests: Requests,
  name: string,
  input: Input,
  headers: Fields,
  keyed: Fields,
  request: Lifetime,
): Promise<Response | undefined> {
  async function ask(): Promise<Response | undefined> {
    for (let attempt = 0; attempt < ASKED && !request.signal.aborted; attempt++) {
      if (attempt > 0) await pause(AGAIN_AFTER * attempt, request);
      const answer = await requests.ask("GET", name, input, headers, request, keyed).catch(() => undefined);
      if (answer?.ok && answer.headers.has(RESUME)) return answer;
      if (answer) discard(answer);
      if (answer && !mayPass(answer)) return undefined;
    }
    return undefined;
  }
  return within(request, ask, ANSWER_WITHIN, () => timedOut(name, ANSWER_WITHIN)).catch(() => undefined);
}

/**
 * Whether a repeated request may get an offer. A server that cannot reach its log or pub/sub answers 5xx; an HTTP parser answers a
 * request cut in transit with a 400 without a body. A plain WebSocket server's 400 has a body.
 */
function mayPass({ status, headers }: Response): boolean {
  return status >= 500 || (status === 400 && !headers.has("Content-Type"));
}
