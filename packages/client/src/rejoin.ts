import type { Gap, Resumable } from "@parlance/wire";
import { Disconnected, notify, Refusal } from "@parlance/wire/errors";
import { parseGap, parseResumable } from "@parlance/wire/resume";
import { RESUME } from "@parlance/wire/resume-key";
import { timedOut } from "./failures.js";
import { type Lifetime, lifetime, pause, within } from "./lifetime.js";
import { ANSWER_WITHIN, type ConnectOptions, RECONNECT_FOR } from "./options.js";
import { discard, parseRetryAfter } from "./response.js";

/** The backoff in milliseconds: the longest first wait, doubled for each further one up to the cap. */
const BACKOFF = { base: 250, cap: 30_000 };
/** The minimum cost of an attempt, in milliseconds of the budget. Limits attempts at a server that answers and then cuts at once. */
const LEAST_COST = 100;

/** Milliseconds after which a server whose log is away has said so, by its default limits. */
const LOG_AWAY = 6000;

/** Statuses after which a retry may help. An HTTP parser answers 400 to a request cut in transit. */
const PASSING = new Set([400, 408, 429]);

/** Attempts to join one stream or channel again. They share a budget of time that only a delivered message refills. */
export interface Rejoins {
  /** Refills the budget and resets the backoff, after a delivered message. */
  delivered(): void;
  /**
   * Repeats an attempt until it succeeds. Rejects when the budget is spent or no further attempt can help.
   *
   * `lost` is the error when the budget is spent, or the server does not know the conversation; its cause is then the last failure.
   * `grace` is the seconds that the server keeps the conversation: each attempt is limited to leave time for another.
   * `retry` is the milliseconds that the server asked for before a reconnect; with -1 the first attempt does not wait.
   * `budget` is `reconnectFor` of the connection by default.
   */
  run<T>(lost: Disconnected, grace: number, attempt: Attempt<T>, retry?: number, budget?: number): Promise<T>;
}

/** Makes one attempt. Returns the minimum milliseconds to wait where a retry may help. A retry may also follow a rejection. */
export type Attempt<T> = (request: Lifetime) => Promise<T | number>;

/** Full-jitter backoff, cut to the rest of the budget; `Retry-After` and `retry:` are honoured up to its cap. `what` names the stream or channel, `fail` ends it with an error. */
export function rejoining(
  { random = Math.random, reconnectFor = RECONNECT_FOR, onConnection }: ConnectOptions,
  life: Lifetime,
  what: string,
  fail: (error: unknown) => void = life.abort,
): Rejoins {
  let spent = 0;
  let attempts = 0;
  let tries = 0;
  return {
    delivered() {
      spent = attempts = tries = 0;
    },
    async run(lost, grace, attempt, retry = 0, budget = reconnectFor) {
      // Another attempt is to fit into the grace, and a server without its log is to be heard.
      const limit = Math.min(ANSWER_WITHIN, Math.max(1000, (grace * 1000) / 3, Math.min(LOG_AWAY, (grace * 2000) / 3)));
      let wait = retry;
      let cause: unknown;
      // After a silence, the first attempt may use a kept connection of the same dead network. The second cannot.
      let most = lost.code === "idle" ? Math.min(limit, LOG_AWAY) : limit;
      for (let first = retry < 0; ; first = false, most = limit) {
        const backoff = () => random() * Math.min(BACKOFF.cap, BACKOFF.base * 2 ** attempts++);
        const asked = first ? 0 : Math.min(wait, BACKOFF.cap);
        const drawn = first ? 0 : asked + backoff();
        const rest = budget - spent;
        // The last attempt is made at the end of the budget, and never earlier than the server asked for.
        wait = Math.min(drawn, Math.max(asked, rest - LEAST_COST));
        const isLast = wait < drawn;
        const left = rest - wait;
        if (left <= 0) {
          lost.cause ??= cause;
          lost.message += `; not joined again in ${tries} attempts within ${budget} ms`;
          throw lost;
        }
        tries++;
        if (!first)
          notify(
            onConnection,
            { call: what, type: "rejoining", attempt: tries, cause: cause ?? lost, wait, left: rest },
            fail,
          );
        const began = Date.now();
        const request = lifetime(life.signal);
        try {
          if (!first) await pause(wait, request);
          const time = Math.min(most, left);
          const late = () => timedOut("a join", time);
          const result = await within(request, () => attempt(request), time, late);
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
          spent += isLast ? rest : Math.max(LEAST_COST, Date.now() - began);
        }
      }
    },
  };
}

/** Whether no further attempt can help: a gap, a refusal, or a mistake in the caller's code. */
function isFinal(error: unknown): boolean {
  return error instanceof Refusal ? !error.retryable : !(error instanceof Disconnected) || error.code === "gap";
}

/** Messages that were missed and are no longer kept. */
export function gap(what: string, missing: Gap, cause?: unknown): Disconnected {
  return new Disconnected(`${what}: messages after ${missing.after} are gone`, {
    code: "gap",
    retryable: false,
    missing,
    cause,
  });
}

/**
 * Reads the answer to a join: the position to resume from, or the minimum milliseconds before the next attempt.
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
  return (parseRetryAfter(response.headers.get("Retry-After")) ?? 0) * 1000;
}
