import { Disconnected, formatGap, parseGap, parseResumable, RESUME, Refusal } from "@parlance/wire";
import { ANSWER_WITHIN, pause, within } from "./pause.js";

/** How a cut stream is joined again. */
export interface Rejoining {
  /** The same path by GET, with the key and the cursor. */
  readonly ask: (signal: AbortSignal) => Promise<Response>;
  /** What the reader gets where there is nothing to join. */
  readonly lost: Disconnected;
  readonly signal: AbortSignal;
  /** Milliseconds that the server asked for before a reconnect; 0 where it asked for none. */
  readonly retry: number;
  /** Milliseconds after which nobody tries any more. */
  readonly giveUpAfter: number;
  readonly random: () => number;
  /** How many times in a row a join has led to nothing. */
  readonly attempt: number;
}

/** Milliseconds: the first wait is at most this long, and each further one twice as long, up to the cap. */
export const BACKOFF = { base: 250, cap: 30_000 };

/** Refusals after which asking again may help. 400 is what a server says to a request that was cut on its way. */
const PASSING = new Set([400, 408, 429]);

/**
 * Asks until the stream goes on: full-jitter backoff, `Retry-After` and `retry:` honoured within the cap; an answer that does not come
 * within 30 s is asked for anew. Stops with `gap` where
 * messages are gone, with `Refusal` on 401, 403 and 404, and with what was lost where the server does not know Parlance.
 */
export async function rejoin({
  ask,
  lost,
  signal,
  retry,
  giveUpAfter,
  random,
  attempt: first,
}: Rejoining): Promise<Response> {
  const until = Date.now() + giveUpAfter;
  let atLeast = Math.min(retry, BACKOFF.cap);
  for (let attempt = first; ; attempt++) {
    const wait = atLeast + random() * Math.min(BACKOFF.cap, BACKOFF.base * 2 ** attempt);
    if (Date.now() + wait > until) throw lost;
    await pause(wait, signal);
    atLeast = 0;
    let response: Response;
    try {
      response = await within(Math.min(ANSWER_WITHIN, until - Date.now()), signal, ask);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Refusal && !error.retryable) throw error;
      continue;
    }
    const said = response.headers.get(RESUME);
    if (response.ok && parseResumable(said)) return response;
    response.body?.cancel().catch(() => {});
    const gap = parseGap(said);
    if (gap)
      throw new Disconnected(`${lost.message}, and what followed is held no more (${formatGap(gap)})`, {
        code: "gap",
        retryable: false,
        missing: gap,
        cause: lost,
      });
    if (response.status === 401 || response.status === 403)
      throw new Refusal(`the stream may not be joined again: ${response.status}`, { status: response.status });
    if (response.status < 500 && !PASSING.has(response.status)) throw lost;
    const asked = Number(response.headers.get("Retry-After"));
    if (Number.isFinite(asked)) atLeast = Math.min(asked * 1000, BACKOFF.cap);
  }
}
