import type { Input } from "@parlance/wire";
import { OFFER, RESUME } from "@parlance/wire/resume-key";
import { timedOut } from "../failures.js";
import { type Lifetime, lifetime, pause, within } from "../lifetime.js";
import { ANSWER_WITHIN } from "../options.js";
import { discard, type Fields, type Requests } from "../request.js";

/** Requests for an offer to an unreachable server, before its socket is tried without resume. */
const ASKED = 3;

/** Milliseconds before the second request; twice as many before the third. */
const AGAIN_AFTER = 100;

/** What servers have answered, by the `fetch` that reaches them: one in memory has any address. */
const known = new WeakMap<object, Map<string, Promise<string | undefined>>>();

/**
 * Asks a server once whether it resumes channels, beside the first open of one. Resolves with its times, or undefined for another server,
 * and never rejects. A page asks so, because its sockets carry no header.
 */
export function resumesAt(
  requests: Requests,
  name: string,
  input: Input,
  headers: Fields,
): Promise<string | undefined> {
  const { fetch = globalThis.fetch } = requests.connection;
  const address = requests.url("");
  const answers = known.get(fetch) ?? new Map<string, Promise<string | undefined>>();
  known.set(fetch, answers);
  let answer = answers.get(address);
  if (!answer) {
    // Of no channel: another one that opens meanwhile waits for the same answer.
    const request = lifetime();
    const ask = () => requests.ask("GET", name, input, headers, request, { [RESUME]: OFFER });
    const read = (response: Response) => {
      discard(response);
      const state = response.headers.get(RESUME);
      // Some servers repeat headers: that would be the question itself.
      return response.ok && state?.startsWith(`${OFFER};`) ? state : undefined;
    };
    answer = within(request, ask, ANSWER_WITHIN, () => timedOut(name, ANSWER_WITHIN)).then(read, () => undefined);
    answers.set(address, answer);
  }
  return answer;
}

/** Lets the next channel ask again, because nothing could be reached. */
export function forget({ connection: { fetch = globalThis.fetch }, url }: Requests): void {
  known.get(fetch)?.delete(url(""));
}

/**
 * Asks for a ticket, without which a page's socket cannot carry a token. Only a server that knows Parlance answers with one. The body of its
 * answer is not read.
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
  limit = ANSWER_WITHIN,
): Promise<Response | undefined> {
  async function ask(): Promise<Response | undefined> {
    for (let attempt = 0; attempt < ASKED && !request.signal.aborted; attempt++) {
      if (attempt > 0) await pause(AGAIN_AFTER * attempt, request);
      const answer = await requests.ask("GET", name, input, headers, request, keyed).catch(() => undefined);
      const state = answer?.headers.get(RESUME);
      if (state && (answer!.ok || state.startsWith("gap;"))) return answer;
      if (answer) discard(answer);
      if (answer && !mayPass(answer)) return undefined;
    }
    return undefined;
  }
  return within(request, ask, limit, () => timedOut(name, limit)).catch(() => undefined);
}

/**
 * Whether a repeated request may get an offer. A server that cannot reach its log or pub/sub answers 5xx; an HTTP parser answers a
 * request cut in transit with a 400 without a body. A plain WebSocket server's 400 has a body.
 */
function mayPass({ status, headers }: Response): boolean {
  return status >= 500 || (status === 400 && !headers.has("Content-Type"));
}
