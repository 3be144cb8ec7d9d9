import type { CallOptions } from "@parlance/contract";
import {
  type AnyContract,
  assertChecked,
  bind,
  checkOf,
  Disconnected,
  type Input,
  parseJson,
  Refusal,
  reader,
  unfault,
  Violation,
} from "@parlance/wire";
import { type Lifetime, lifetime, pause, timedOut, within } from "./lifetime.js";
import { ANSWER_TIMEOUT, ANSWER_WITHIN, type ConnectOptions, IDLE_TIMEOUT, MAX_MESSAGE_SIZE } from "./options.js";
import { tokens } from "./token.js";

type OwnHeaders = Readonly<Record<string, string>> | undefined;

/** Requests of one connection. The lifetime of a request is its caller's, who also limits the wait for its answer. */
export interface Requests {
  /** Sends an operation. Resolves when the status and the content type of the answer are right. */
  send(operation: string, input: Input, headers: OwnHeaders, life: Lifetime): Promise<Response>;
  /** Sends an operation and reads its answer: JSON, text or nothing. */
  call(operation: string, input: Input, options: CallOptions): Promise<unknown>;
  /** Sends a request that no contract describes to the path of an operation or channel. Resolves with any answer. */
  ask(method: string, name: string, input: Input, headers: OwnHeaders, life: Lifetime): Promise<Response>;
  /** Tells the server that nobody comes back for this key, by one DELETE. Nothing depends on its answer. */
  cancel(name: string, input: Input, headers: OwnHeaders): void;
  /**
   * Reads a body as text, each chunk within the idle time-out. Throws `Violation` above `maxMessageSize`; with `quote` returns what is
   * there at 64 Ki characters.
   */
  read(response: Response, subject: string, life: Lifetime, quote?: boolean): Promise<string>;
  /** The headers of a request, with the token. */
  headers(own: OwnHeaders, life: Lifetime): Promise<Record<string, string>>;
  url(target: string): string;
}

/** Characters that are read of the body of a refusal. */
const MAX_REFUSAL = 64 * 1024;

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

  async function headers(own: OwnHeaders, life: Lifetime): Promise<Record<string, string>> {
    const token = await authority.current(life);
    return { ...connection.headers, ...own, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  }

  /** Sends one request. A user's `fetch` may ignore the signal: an answer that comes after it is discarded. */
  async function exchange(name: string, target: string, init: RequestInit & { method: string }, { signal }: Lifetime) {
    let response: Response;
    try {
      response = await fetch(new Request(url(target), { ...init, signal }));
    } catch (cause) {
      signal.throwIfAborted();
      throw new Disconnected(`${contract.name}.${name}: nobody answered at ${url(target)}`, {
        code: "unreachable",
        retryable: init.method !== "POST" || neverSent(cause),
        cause,
      });
    }
    if (signal.aborted) discard(response);
    signal.throwIfAborted();
    return response;
  }

  async function attempt(name: string, input: Input, own: OwnHeaders, life: Lifetime): Promise<Response> {
    const { answer } = contract.operations[name]!;
    const { method, target, body } = bind(contract, name, input);
    const sent = new Headers(await headers(own, life));
    if (body !== undefined) sent.set("Content-Type", "application/json");
    sent.set("Accept", answer.stream ? "text/event-stream" : (answer.text ?? "application/json"));
    if (answer.stream) sent.set("Cache-Control", "no-cache");
    const init = { method, headers: sent, body: body && JSON.stringify(body) } as RequestInit & { method: string };
    const response = await exchange(name, target, init, life);
    if (!response.ok) throw unfault(contract, response.status, await quoted(response, name, life), retryAfter(response));
    const wanted = answer.stream ? "text/event-stream" : (answer.text ?? (answer.json && "application/json"));
    const type = response.headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase();
    if (wanted !== undefined && type !== wanted) {
      const start = (await quoted(response, name, life)).slice(0, 80);
      throw violation(
        `${name} is answered with ${wanted}, not ${type ?? "nothing"}: ${JSON.stringify(start)}`,
        "content_type",
        name,
      );
    }
    return response;
  }

  async function ask(method: string, name: string, input: Input, own: OwnHeaders, life: Lifetime): Promise<Response> {
    const { target } = bind(contract, name, input);
    const again = async () => exchange(name, target, { method, headers: await headers(own, life) }, life);
    const token = await authority.current(life);
    const answer = await again();
    // A token may expire in the middle of a stream.
    if (answer.status !== 401 || !authority.refused(token)) return answer;
    discard(answer);
    return again();
  }

  function cancel(name: string, input: Input, own: OwnHeaders): void {
    const life = lifetime();
    const late = () => timedOut(name, ANSWER_WITHIN, true);
    within(life, ANSWER_WITHIN, late, () => ask("DELETE", name, input, own, life)).then(discard, () => {});
  }

  async function send(name: string, input: Input, own: OwnHeaders, life: Lifetime): Promise<Response> {
    const waits = connection.retryWaits ?? contract.retry?.waits ?? [];
    let renewed = false;
    for (let i = 0; ; i++) {
      const token = await authority.current(life);
      try {
        return await attempt(name, input, own, life);
      } catch (error) {
        // A token may expire between two calls. A request that was refused with 401 had no effect, so it is sent again, once.
        if (error instanceof Refusal && error.status === 401 && !renewed && authority.refused(token)) {
          renewed = true;
          i--;
          continue;
        }
        // The document may repeat anything; an operation that may have been received is not repeated here.
        if (!(error instanceof Disconnected && error.code === "unreachable" && error.retryable) || i >= waits.length)
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
    const limit = quote ? MAX_REFUSAL : maxMessageSize;
    const idle = () => disconnected(`stopped: nothing came for ${idleTimeout} ms`, "idle");
    const disconnected = (what: string, code: "idle" | "ended_early", cause?: unknown) =>
      new Disconnected(`${contract.name}.${subject}: the answer ${what}`, { code, retryable: false, cause });
    let text = "";
    try {
      for (;;) {
        const { done, value } = await within(life, idleTimeout, idle, () => bytes.read());
        if (done) return text + decoder.decode();
        text += decoder.decode(value, { stream: true });
        if (text.length <= limit) continue;
        if (!quote) throw violation(`the answer is over the limit of ${limit} characters`, "too_large", subject);
        bytes.cancel().catch(() => {});
        return text;
      }
    } catch (cause) {
      bytes.cancel().catch(() => {});
      if (cause instanceof Violation) throw cause;
      life.signal.throwIfAborted();
      throw disconnected("was cut", "ended_early", cause);
    }
  }

  /** The beginning of a body that is only quoted: empty where it cannot be read. */
  function quoted(response: Response, subject: string, life: Lifetime): Promise<string> {
    return read(response, subject, life, true).catch(() => "");
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
