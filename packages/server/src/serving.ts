import type { Call, Checks, OpenAsk } from "@parlance/contract";
import { type AnyContract, Refusal, type Route, Violation } from "@parlance/wire";
import { type Called, type Hooks, MAX_STREAMS, type ServeOptions } from "./options.js";
import type { Runs } from "./run.js";
import type { Sessions } from "./session.js";
import type { Slots } from "./slot.js";

/** An app's handlers, as the runtime calls them. */
export type Handlers = Readonly<Record<string, (input: unknown, ...rest: unknown[]) => unknown>>;

export interface Serving {
  readonly contract: AnyContract;
  /** Checks of what clients write; loaded by the first request. */
  readonly accepts: () => Promise<Checks>;
  readonly handlers: Handlers;
  readonly options: ServeOptions;
  readonly sessions: Sessions;
  /** Streams and channels that are open, by principal. */
  readonly open: Map<string, number>;
  readonly runs: Runs;
  readonly slots: Slots;
  readonly route: (method: string, pathname: string) => Route | undefined;
  /** Aborted when the app takes no more calls: what has no end of its own ends now. */
  readonly draining: AbortSignal;
  /** Aborted when the app closes: what still runs is cancelled. */
  readonly closing: AbortSignal;
  /** What ends each channel and endless stream when the app takes no more calls; thousands of listeners on one signal would not do. */
  readonly shutting: Set<() => void>;
  /** What cancels each other stream when the app closes. */
  readonly running: Set<() => void>;
}

/** The principal behind a request, or a refusal with 401. */
export async function identify({ options }: Serving, request: Request): Promise<unknown> {
  if (!options.authenticate) return undefined;
  const principal = await options.authenticate(request);
  if (principal === undefined || principal === null || principal === false)
    throw new Refusal("a valid bearer token is needed", { status: 401 });
  return principal;
}

export function callOf(
  serving: Serving,
  { request, principal }: Called,
  signal: AbortSignal,
  ask?: OpenAsk,
): Call<unknown> {
  return { request, principal, signal, session: serving.sessions.session, ...(ask && { ask }) };
}

export function sessionOf({ contract }: Serving, { input }: Called): string | undefined {
  const key = contract.session === undefined ? undefined : input[contract.session];
  return key === undefined ? undefined : String(key);
}

/** Whatever was thrown, as the protocol's own fault. What is not a refusal is reported to the hook and hidden from the peer. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof Violation && error.side === "client")
    return new Refusal(error.message, { status: error.code === "too_large" ? 413 : 400 });
  return new Refusal("the server failed", { status: 500 });
}

export function tell(
  hooks: Hooks | undefined,
  request: Request,
  refusal: Refusal,
  cause: unknown,
  name?: string,
): void {
  hooks?.refuse?.(request, refusal, cause, name);
}

/** Names a principal. */
export function nameOf({ identify }: ServeOptions, principal: unknown): string {
  if (identify) return identify(principal);
  if (typeof principal === "string") return principal;
  const { id } = (principal ?? {}) as { id?: unknown };
  return String(id ?? JSON.stringify(principal) ?? "");
}

/** Takes one of the principal's places for a stream or channel; throws `Refusal` (429) where none is left. Returns what gives it back. */
export function occupy({ options, open }: Pick<Serving, "options" | "open">, principal: unknown): () => void {
  if (!options.authenticate) return () => {};
  const { maxStreams = MAX_STREAMS } = options;
  const name = nameOf(options, principal);
  const taken = open.get(name) ?? 0;
  if (taken >= maxStreams)
    throw new Refusal(`no more than ${maxStreams} streams may be open at a time`, { status: 429, retryAfter: 1 });
  open.set(name, taken + 1);
  let given = false;
  return () => {
    if (given) return;
    given = true;
    const left = open.get(name)! - 1;
    if (left > 0) open.set(name, left);
    else open.delete(name);
  };
}
