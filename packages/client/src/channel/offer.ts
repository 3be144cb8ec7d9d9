import type { AnyContract, Input, Port } from "@parlance/wire";
import type { Refusal } from "@parlance/wire/errors";
import { mediaType } from "@parlance/wire/internal/http";
import type { Link, Pace, PacedPort } from "@parlance/wire/link";
import { OFFER, RESUME } from "@parlance/wire/resume-key";
import { refusalOf, timedOut } from "../failures.js";
import { type Lifetime, lifetime, pause, within } from "../lifetime.js";
import { ANSWER_WITHIN } from "../options.js";
import { readText } from "../read.js";
import type { Fields, Requests } from "../request.js";
import { discard } from "../response.js";

/** A channel that a server may resume, with the functions that open it. */
export interface Resumed {
  readonly contract: AnyContract;
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

/** The server's offer, its body unread, or the reason for its absence. A server that does not know Parlance gives neither. */
export interface Asked {
  readonly offer?: Response;
  readonly failed?: unknown;
}

/**
 * Asks for a ticket, without which a page's socket cannot carry a token. Only a server that knows Parlance answers with one.
 *
 * A server that answers without an offer, or never answers, is treated as its document specifies. A cut does not count as an answer.
 */
export function firstOffer(resumed: Resumed, request: Lifetime, limit = ANSWER_WITHIN): Promise<Asked> {
  const { what, name, requests, input, headers, keyed } = resumed;
  async function ask(): Promise<Asked> {
    let failed: unknown;
    for (let attempt = 0; attempt < ASKED && !request.signal.aborted; attempt++) {
      if (attempt > 0) await pause(AGAIN_AFTER * attempt, request);
      const answer = await requests.ask("GET", name, input, headers, request, keyed).catch((error: unknown) => {
        failed = error;
      });
      if (!answer) continue;
      const state = answer.headers.get(RESUME);
      if (state && (answer.ok || state.startsWith("gap;"))) return { offer: answer };
      if (!mayPass(answer) || attempt === ASKED - 1) return { failed: await refusedIn(resumed, answer, request) };
      discard(answer);
    }
    return { failed };
  }
  return within(request, ask, limit, () => timedOut(what, limit)).catch((failed: unknown) => ({ failed }));
}

/** Statuses with which servers that have only the socket answer a plain GET. */
const NO_SUCH_GET = [400, 404, 405, 426];

/** The refusal of a server that has the channel. */
async function refusedIn(
  { contract, name, requests }: Resumed,
  answer: Response,
  request: Lifetime,
): Promise<Refusal | undefined> {
  const { status, headers } = answer;
  if (status < 400 || NO_SUCH_GET.includes(status)) {
    discard(answer);
    return undefined;
  }
  const body = await readText(requests, answer, name, request, true).catch(() => "");
  const type = mediaType(headers.get("Content-Type")) ?? "";
  const retryAfter = headers.get("Retry-After");
  return refusalOf(contract, { status, type, token: requests.connection.token, body, retryAfter });
}

/**
 * Whether a repeated request may get an offer. A server that cannot reach its log or pub/sub answers 5xx; an HTTP parser answers a
 * request cut in transit with a 400 without a body. A plain WebSocket server's 400 has a body.
 */
function mayPass({ status, headers }: Response): boolean {
  return status >= 500 || (status === 400 && !headers.has("Content-Type"));
}
