import { fault, formatResumable, RESUME } from "@parlance/wire";
import { type Feed, feed, readable } from "./feed.js";
import { GRACE, HEARTBEAT, STALL } from "./options.js";
import type { Joined } from "./run.js";
import { refusalOf, type Serving, tell } from "./serving.js";

/** What is answered to a request: a text, or a feed that an adapter writes as it comes. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Feed;
}

/** A default nginx holds events back for seconds without the second, and a compressing proxy without the first. */
export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

/** A run as the answer for one of its readers. */
export function streamed({ options }: Serving, { epoch, blocks, leave }: Joined, late = false): Answer {
  const grace = (options.grace ?? GRACE) / 1000;
  const beat = (options.heartbeat ?? HEARTBEAT) / 1000;
  const headers = { ...STREAM_HEADERS, [RESUME]: formatResumable({ epoch, grace, beat }) };
  const heartbeat = options.heartbeat ?? HEARTBEAT;
  return {
    status: 200,
    headers,
    body: feed(blocks, { heartbeat, late, joined: true, stall: options.stall ?? STALL, onStop: leave }),
  };
}

export function refuse(
  { contract, options }: Pick<Serving, "contract" | "options">,
  request: Request,
  error: unknown,
  name?: string,
): Answer {
  const refusal = refusalOf(error);
  tell(options.hooks, request, refusal, error, name);
  const { status, type, body } = fault(contract, name, refusal);
  const headers: Record<string, string> = { "Content-Type": type };
  if (status === 401) headers["WWW-Authenticate"] = 'Bearer realm="parlance"';
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  return { status, headers, body };
}

/** An answer as a web response; `signal` is its request's. */
export function toResponse({ status, headers, body }: Answer, signal: AbortSignal): Response {
  const empty = status === 204 || status === 205;
  return new Response(empty ? null : typeof body === "string" ? body : readable(body, signal), { status, headers });
}
