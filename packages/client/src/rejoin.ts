import type { Resumable } from "@parlance/wire";
import { Disconnected, Refusal } from "@parlance/wire/errors";
import { parseGap, parseResumable, RESUME } from "@parlance/wire/resume";
import { gap, timedOut } from "./disconnected.js";
import { type Lifetime, lifetime, pause, within } from "./lifetime.js";
import { ANSWER_WITHIN, type ConnectOptions, RECONNECT_FOR } from "./options.js";
import { discard } from "./request.js";

/** Milliseconds: the first wait is at most this long, and each further one twice as long, up to the cap. */
const BACKOFF = { base: 250, cap: 30_000 };
/** Milliseconds of the budget that an attempt costs at least: it bounds how often a server that answers at once and cuts is asked. */
const LEAST_COST = 100;

/** Statuses after which asking again may help. 400 is the answer to a request that was cut on its way. */
const PASSING = new Set([400, 408, 429]);

/** Attempts to join one stream or channel again. They share a budget of time that only a delivered message refills. */
export interface Rejoins {
  /** A message was delivered: the budget is full, and the backoff begins anew. */
  delivered(): void;
  /**
   * Attempts until one succeeds. Rejects when the budget is spent, or when no further attempt can help.
   *
   * `lost` is the error when the budget is spent, or the server does not know the conversation; its cause is then the last failure.
   * `grace` is the seconds that the server keeps the conversation: an attempt is given up early enough for another one.
   * `retry` is the milliseconds that the server asked for before a reconnect; with -1 the first attempt does not wait.
   * `budget` is `reconnectFor` of the connection by default.
   */
  run<T>(lost: Disconnected, grace: number, attempt: Attempt<T>, retry?: number, budget?: number): Promise<T>;
}

/** Makes one attempt. Returns milliseconds to wait at least where another one may help, as it does when it rejects. */
export type Attempt<T> = (request: Lifetime) => Promise<T | number>;

/** Full-jitter backoff; `Retry-After` and `retry:` are honoured up to its cap. */
export function rejoining(
  { random = Math.random, reconnectFor = RECONNECT_FOR }: ConnectOptions,
  life: Lifetime,
): Rejoins {
  let spent = 0;
  let attempts = 0;
  return {
    delivered() {
      spent = attempts = 0;
    },
    async run(lost, grace, attempt, retry = 0, budget = reconnectFor) {
      const limit = Math.min(ANSWER_WITHIN, Math.max(1000, (grace * 1000) / 3));
      let wait = retry;
      let cause: unknown;
      for (let first = retry < 0; ; first = false) {
        const backoff = () => random() * Math.min(BACKOFF.cap, BACKOFF.base * 2 ** attempts++);
        wait = first ? 0 : Math.min(wait, BACKOFF.cap) + backoff();
        const left = budget - spent - wait;
        if (left <= 0) {
          lost.cause ??= cause;
          throw lost;
        }
        const began = Date.now();
        const request = lifetime(life.signal);
        try {
          if (!first) await pause(wait, request);
          const most = Math.min(limit, left);
          const late = () => timedOut("a join", most);
          const result = await within(request, () => attempt(request), most, late);
          if (typeof result !== "number") return result;
          wait = result;
          request.abort();
        } catch (error) {
          request.abort(error);
          life.signal.throwIfAborted();
          if (error === lost || isFinal(error)) throw error;
          cause = error;
          wait = 0;
        } finally {
          spent += Math.max(LEAST_COST, Date.now() - began);
        }
      }
    },
  };
}

/** Whether no further attempt can help: a gap, a refusal, or a mistake in the caller's code. */
function isFinal(error: unknown): boolean {
  return error instanceof Refusal ? !error.retryable : !(error instanceof Disconnected) || error.code === "gap";
}

/**
 * Reads the answer to a join: where it goes on from, or milliseconds to wait at least before the next one.
 *
 * @throws `Disconnected` with code `gap` where messages are gone, `Refusal` on 401 and 403, and `lost` where the server does not know Parlance.
 */
export function judge(response: Response, lost: Disconnected): Resumable | number {
  const header = response.headers.get(RESUME);
  const resumable = response.ok && parseResumable(header);
  if (resumable) return resumable;
  discard(response);
  const missing = parseGap(header);
  if (missing) throw gap(lost.message, missing, lost);
  const { status } = response;
  if (status === 401 || status === 403) throw new Refusal(`the join was refused: ${status}`, { status });
  if (status < 500 && !PASSING.has(status)) throw lost;
  return Number(response.headers.get("Retry-After")) * 1000 || 0;
}
