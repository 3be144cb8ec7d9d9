import type { CallOptions } from "@parlance/contract";
import {
  type AnyContract,
  assertChecked,
  bind,
  checkOf,
  Disconnected,
  type Input,
  parseJson,
  reader,
  unfault,
  Violation,
} from "@parlance/wire";
import { type Lifetime, lifetime, pause, timedOut, within } from "./lifetime.js";
import { ANSWER_TIMEOUT, ANSWER_WITHIN, type ConnectOptions, IDLE_TIMEOUT, MAX_MESSAGE_SIZE } from "./options.js";
import { tokens } from "./token.js";

type Fields = Readonly<Record<string, string>> | undefined;

/** Requests of one connection. The lifetime of a request is its caller's, who also limits the wait for its answer. */
export interface Requests {
  /** Sends an operation. Resolves when the status and the content type of the answer are right. */
  send(operation: string, input: Input, headers: Fields, life: Lifetime, ours?: Fields): Promise<Response>;
  /** Sends an operation and reads its answer: JSON, text or nothing. */
  call(operation: string, input: Input, options: CallOptions): Promise<unknown>;
  /**
   * Sends a request to the path of an operation or channel, with the caller's headers and, above them, ours. Resolves with any answer.
   * A request that is refused with 401 had no effect: it is sent again with a new token, once.
   */
  ask(method: string, name: string, input: Input, headers: Fields, life: Lifetime, ours: Fields): Promise<Response>;
  /** Tells the server that nobody comes back for this key, by one DELETE. Nothing depends on its answer. */
  cancel(name: string, input: Input, headers: Fields, ours: Fields): void;
  /**
   * Reads a body as text, each chunk within the idle time-out. Throws `Violation` above `maxMessageSize`; with `quote` returns what is
   * there at 64 Ki characters.
   */
  read(response: Response, subject: string, life: Lifetime, quote?: boolean): Promise<string>;
  /** The caller's headers, with the token. */
  headers(own: Fields, life: Lifetime): Promise<Record<string, string>>;
  url(target: string): string;
}

/** Characters that are read of the body of a refusal. */
const MAX_QUOTE = 64 * 1024;

export function requests(contract: AnyContract, connection: ConnectOptions): Requests {
  const {
    fetch = (request: Request) => globalThis.fetch(request),
    maxMessageSize = MAX_MESSAGE_SIZE,
    idleTimeout = IDLE_TIMEOUT,
    answerTimeout = ANSWER_TIMEOUT,
  } = connection;
  const base = new URL(connection.baseUrl ?? contract.url);
  const authority = tokens(connection.token);

  const url = (target: string): string => base.origin + base.pathname.replace(/\/$/, "") + target;

  async function headers(own: Fields, life: Lifetime): Promise<Record<string, string>> {
    const token = await authority.current(life);
    return { ...connection.headers, ...own, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  }

  async function ask(
    method: string,
    name: string,
    input: Input,
    own: Fields,
    life: Lifetime,
    ours: Fields,
    sent?: string,
  ): Promise<Response> {
    const { signal } = life;
    const address = url(bind(contract, name, input).target);
    for (let renewed = false; ; renewed = true) {
      const token = await authority.current(life);
      let response: Response;
      try {
        const request = new Request(address, { method, headers: await headers(own, life), body: sent ?? null, signal });
        for (const field in ours) request.headers.set(field, ours[field]!);
        response = await fetch(request);
      } catch (cause) {
        signal.throwIfAborted();
        throw disconnected(
          name,
          `nobody answered at ${address}`,
          "unreachable",
          cause,
          method !== "POST" || neverSent(cause),
        );
      }
      // A user's `fetch` may ignore the signal.
      if (signal.aborted) discard(response);
      signal.throwIfAborted();
      if (response.status !== 401 || renewed || !authority.refused(token)) return response;
      discard(response);
    }
  }

  async function attempt(name: string, input: Input, own: Fields, life: Lifetime, ours: Fields): Promise<Response> {
    const { method, answer } = contract.operations[name]!;
    const { body } = bind(contract, name, input);
    const wanted = answer.stream ? "text/event-stream" : (answer.text ?? (answer.json && "application/json"));
    const response = await ask(
      method,
      name,
      input,
      own,
      life,
      {
        ...(body && { "Content-Type": "application/json" }),
        Accept: wanted ?? "application/json",
        ...(answer.stream && { "Cache-Control": "no-cache" }),
        ...ours,
      },
      body && JSON.stringify(body),
    );
    const type = response.headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase();
    if (response.ok && (wanted === undefined || type === wanted)) return response;
    const quote = await read(response, name, life, true).catch(() => "");
    if (!response.ok) throw unfault(contract, response.status, quote, retryAfter(response));
    throw violation(
      `${name} is answered with ${wanted}, not ${type ?? "nothing"}: ${JSON.stringify(quote.slice(0, 80))}`,
      "content_type",
      name,
    );
  }

  function cancel(name: string, input: Input, own: Fields, ours: Fields): void {
    const life = lifetime();
    const late = () => timedOut(name, ANSWER_WITHIN, true);
    within(life, ANSWER_WITHIN, late, () => ask("DELETE", name, input, own, life, ours)).then(discard, () => {});
  }

  async function send(name: string, input: Input, own: Fields, life: Lifetime, ours?: Fields): Promise<Response> {
    const waits = connection.retryWaits ?? contract.retry?.waits ?? [];
    for (let i = 0; ; i++) {
      try {
        return await attempt(name, input, own, life, ours);
      } catch (error) {
        // The document may repeat anything; an operation that may have been received is not repeated here.
        if (!(error instanceof Disconnected && error.code === "unreachable" && error.retryable && i < waits.length))
          throw error;
        await pause(waits[i]! * 1000, life);
      }
    }
  }

  async function call(name: string, input: Input, options: CallOptions): Promise<unknown> {
    const { method, answer } = contract.operations[name]!;
    const life = lifetime(connection.signal, options.signal);
    try {
      const late = () => timedOut(`${contract.name}.${name}`, answerTimeout, method !== "POST");
      const response = await within(life, answerTimeout, late, () => send(name, input, options.headers, life));
      const text = await read(response, name, life);
      if (answer.text !== undefined) return text;
      if (answer.json === undefined) return undefined;
      const origin = { protocol: contract.name, side: "server" as const, subject: name };
      const body = parseJson(text, origin);
      const reads = reader(contract.reading, (rule) => rule.of === "server" && rule.operation === name);
      const documented = reads ? reads(body) : body;
      assertChecked(checkOf(contract, contract.checks, answer.json), documented, origin);
      return documented;
    } catch (error) {
      life.abort(error);
      throw error;
    } finally {
      life.release();
    }
  }

  async function read(response: Response, subject: string, life: Lifetime, quote = false): Promise<string> {
    if (!response.body) return "";
    const decoder = new TextDecoder();
    const bytes = response.body.getReader();
    const limit = quote ? MAX_QUOTE : maxMessageSize;
    const idle = () => disconnected(subject, `nothing came for ${idleTimeout} ms`, "idle");
    let text = "";
    try {
      for (;;) {
        const { done, value } = await within(life, idleTimeout, idle, () => bytes.read());
        if (done) return text + decoder.decode();
        text += decoder.decode(value, { stream: true });
        if (text.length <= limit) continue;
        if (quote) return text;
        throw violation(`the answer is over the limit of ${limit} characters`, "too_large", subject);
      }
    } catch (cause) {
      life.signal.throwIfAborted();
      throw cause instanceof Violation ? cause : disconnected(subject, "the answer was cut", "ended_early", cause);
    } finally {
      bytes.cancel().catch(() => {});
    }
  }

  function disconnected(
    subject: string,
    what: string,
    code: "idle" | "ended_early" | "unreachable",
    cause?: unknown,
    retryable = false,
  ): Disconnected {
    return new Disconnected(`${contract.name}.${subject}: ${what}`, { code, retryable, cause });
  }

  function violation(what: string, code: "content_type" | "too_large", subject: string): Violation {
    return new Violation(what, { code, protocol: contract.name, side: "server", subject });
  }

  return { send, call, ask, cancel, read, headers, url };
}

/** Lets go of an answer whose body nobody reads. */
export function discard(response: Response): void {
  response.body?.cancel().catch(() => {});
}

/** Node says in the cause whether a connection was made at all. */
function neverSent(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (code === "ECONNREFUSED" || code === "ENOTFOUND") return true;
  return cause !== undefined && cause !== error && neverSent(cause);
}

/** Seconds, from either form of Retry-After (RFC 9110, section 10.2.3). */
function retryAfter({ headers }: Response): number | undefined {
  const value = headers.get("Retry-After");
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
