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
import { type ConnectOptions, MAX_MESSAGE_SIZE } from "./options.js";
import { pause } from "./pause.js";
import { tokens } from "./token.js";

/** Requests of one connection. */
export interface Requests {
  /** Sends the operation, and returns the answer once its status and content type are known to be right. */
  send(operation: string, input: Input, options: CallOptions): Promise<Response>;
  /** Sends it and reads the answer: JSON, text or nothing. */
  call(operation: string, input: Input, options: CallOptions): Promise<unknown>;
  /** Sends what no contract describes to the operation's or channel's path, and returns whatever is answered. */
  ask(method: string, name: string, input: Input, options: CallOptions): Promise<Response>;
  headers(options: CallOptions): Promise<Record<string, string>>;
  url(target: string): string;
}

export function requests(contract: AnyContract, connection: ConnectOptions): Requests {
  const base = new URL(connection.baseUrl ?? contract.url);
  const send_ = connection.fetch ?? ((request: Request) => globalThis.fetch(request));
  const authority = tokens(connection.token);
  const maxSize = connection.maxMessageSize ?? MAX_MESSAGE_SIZE;

  const url = (target: string): string => base.origin + base.pathname.replace(/\/$/, "") + target;

  async function headers({ headers }: CallOptions): Promise<Record<string, string>> {
    const token = await authority.current();
    return { ...connection.headers, ...headers, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
  }

  async function attempt(name: string, input: Input, options: CallOptions): Promise<Response> {
    const { answer } = contract.operations[name]!;
    const { method, target, body } = bind(contract, name, input);
    const said = new Headers(await headers(options));
    if (body !== undefined) said.set("Content-Type", "application/json");
    said.set("Accept", answer.stream ? "text/event-stream" : (answer.text ?? "application/json"));
    if (answer.stream) said.set("Cache-Control", "no-cache");
    const signal = either(connection.signal, options.signal);
    let response: Response;
    try {
      response = await send_(
        new Request(url(target), { method, headers: said, body: body && JSON.stringify(body), signal }),
      );
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      throw new Disconnected(`${contract.name}.${name}: nobody answered at ${url(target)}`, {
        code: "unreachable",
        retryable: method !== "POST" || neverSent(cause),
        cause,
      });
    }
    if (!response.ok) throw unfault(contract, response.status, await readText(response, name), retryAfter(response));
    const wanted = answer.stream ? "text/event-stream" : (answer.text ?? (answer.json && "application/json"));
    const type = response.headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase();
    if (wanted !== undefined && type !== wanted) {
      const start = (await readText(response, name).catch(() => "")).slice(0, 80);
      throw violation(
        `${name} is answered with ${wanted}, not ${type ?? "nothing"}: ${JSON.stringify(start)}`,
        "content_type",
        name,
      );
    }
    return response;
  }

  async function ask(method: string, name: string, input: Input, options: CallOptions): Promise<Response> {
    const { target } = bind(contract, name, input);
    const again = async () =>
      send_(new Request(url(target), { method, headers: await headers(options), signal: options.signal }));
    const token = await authority.current();
    const answer = await again();
    // A token may expire in the middle of a stream.
    if (answer.status !== 401 || !authority.refused(token)) return answer;
    answer.body?.cancel().catch(() => {});
    return again();
  }

  async function send(name: string, input: Input, options: CallOptions): Promise<Response> {
    const waits = connection.retryWaits ?? contract.retry?.waits ?? [];
    let renewed = false;
    for (let i = 0; ; i++) {
      const token = await authority.current();
      try {
        return await attempt(name, input, options);
      } catch (error) {
        // A token may expire between two calls: what is refused with 401 was not done, so it may be sent again, once.
        if (error instanceof Refusal && error.status === 401 && !renewed && authority.refused(token)) {
          renewed = true;
          i--;
          continue;
        }
        // The document may repeat anything; an operation that may have been received is not repeated here.
        if (!(error instanceof Disconnected && error.retryable) || i >= waits.length) throw error;
        await pause(waits[i]! * 1000, either(connection.signal, options.signal));
      }
    }
  }

  async function call(name: string, input: Input, options: CallOptions): Promise<unknown> {
    const { answer } = contract.operations[name]!;
    const response = await send(name, input, options);
    const text = await readText(response, name);
    if (answer.text !== undefined) return text;
    if (answer.json === undefined) return undefined;
    const origin = { protocol: contract.name, side: "server" as const, subject: name };
    const body = parseJson(text, origin);
    const read = reader(contract.reading, (rule) => rule.of === "server" && rule.operation === name);
    const documented = read ? read(body) : body;
    assertChecked(checkOf(contract, contract.checks, answer.json), documented, origin);
    return documented;
  }

  async function readText(response: Response, subject: string): Promise<string> {
    if (!response.body) return "";
    const decoder = new TextDecoder();
    const bytes = response.body.getReader();
    let text = "";
    try {
      for (let read = await bytes.read(); !read.done; read = await bytes.read()) {
        text += decoder.decode(read.value, { stream: true });
        if (text.length > maxSize)
          throw violation(`the answer is over the limit of ${maxSize} characters`, "too_large", subject);
      }
    } catch (cause) {
      bytes.cancel().catch(() => {});
      if (cause instanceof Violation) throw cause;
      throw new Disconnected(`${contract.name}.${subject}: the answer was cut`, {
        code: "ended_early",
        retryable: false,
        cause,
      });
    }
    return text + decoder.decode();
  }

  function violation(what: string, code: "content_type" | "too_large", subject: string): Violation {
    return new Violation(what, { code, protocol: contract.name, side: "server", subject });
  }

  return { send, call, ask, headers, url };
}

/** Either signal. */
export function either(...signals: (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}

/** Node says in the cause whether a connection was made at all. */
function neverSent(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (code === "ECONNREFUSED" || code === "ENOTFOUND") return true;
  return cause !== undefined && cause !== error && neverSent(cause);
}

/** Seconds, from either form of Retry-After (RFC 9110, section 10.2.3). */
function retryAfter({ headers }: Response): number | undefined {
  const said = headers.get("Retry-After");
  if (said === null) return undefined;
  if (/^\d+$/.test(said)) return Number(said);
  const date = Date.parse(said);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
