import type { AnyContract, CallOptions, Input } from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { Disconnected, quoteBody, Violation } from "@parlance/wire/errors";
import { mediaType } from "@parlance/wire/internal/http";
import { parseJson } from "@parlance/wire/json";
import { assertChecked, checkOf } from "@parlance/wire/message-decoder";
import { refusalOf, timedOut, why } from "./failures.js";
import { type Lifetime, lifetime, pause, within } from "./lifetime.js";
import { ANSWER_TIMEOUT, type ConnectOptions } from "./options.js";
import { readText } from "./read.js";
import type { Fields, Requests } from "./request.js";

/** The operations of one connection. */
export interface Operations {
  /** Sends an operation. Resolves once the answer has the expected status and content type. */
  send(operation: string, input: Input, headers: Fields, life: Lifetime, ours?: Fields): Promise<Response>;
  /** Sends an operation and reads its answer: JSON, text or nothing. */
  call(operation: string, input: Input, options: CallOptions): Promise<unknown>;
}

export function operations(contract: AnyContract, connection: ConnectOptions, requests: Requests): Operations {
  const { answerTimeout = ANSWER_TIMEOUT, retryWaits = contract.retry?.waits ?? [] } = connection;

  async function attempt(name: string, input: Input, own: Fields, life: Lifetime, ours: Fields): Promise<Response> {
    const { method, answer } = contract.operations[name]!;
    const { body } = bind(contract, name, input);
    const wanted = answer.stream
      ? (answer.stream.lines ?? "text/event-stream")
      : (answer.text ?? (answer.json && "application/json"));
    const fields = {
      ...(body && { "Content-Type": "application/json" }),
      Accept: wanted ?? "application/json",
      ...(answer.stream && { "Cache-Control": "no-cache" }),
      ...ours,
    };
    const response = await requests.ask(method, name, input, own, life, fields, body && { body: JSON.stringify(body) });
    const type = mediaType(response.headers.get("Content-Type")) ?? "";
    // Bytes are not text, unless their media type is.
    const asText = answer.binary === undefined ? answer.text : TEXT.test(answer.binary);
    const fits = wanted === undefined ? type !== HTML : type === wanted || (asText && TEXT.test(type));
    if (response.ok && fits) return response;
    const quote = await readText(requests, response, name, life, true).catch(() => "");
    const { status } = response;
    // Some servers label an empty body as HTML.
    if (response.ok && wanted === undefined && !quote) return new Response();
    const { token } = connection;
    const redirected = response.redirected && method !== "GET" ? response.url : undefined;
    const retryAfter = response.headers.get("Retry-After");
    if (!response.ok) throw await refusalOf(contract, { status, type, token, redirected, body: quote, retryAfter });
    const { says } = await why({ status, type, token, redirected });
    const { text, details } = quoteBody(quote);
    const got = `${type || "no content type"}${text ? `, ${JSON.stringify(text)}` : ""}`;
    const what = `${name} is answered with ${got}, where ${wanted ?? "nothing"} is declared${says}`;
    throw new Violation(what, {
      code: "content_type",
      protocol: contract.name,
      side: "server",
      subject: name,
      details,
    });
  }

  const send: Operations["send"] = async (name, input, own, life, ours) => {
    for (let i = 0; ; i++) {
      try {
        return await attempt(name, input, own, life, ours);
      } catch (error) {
        // The document may allow any retry; an operation that may have been received is never repeated.
        const repeatable = error instanceof Disconnected && error.code === "unreachable" && error.retryable;
        if (!repeatable || i >= retryWaits.length) throw error;
        await pause(retryWaits[i]! * 1000, life);
      }
    }
  };

  async function call(name: string, input: Input, options: CallOptions): Promise<unknown> {
    const { method, answer } = contract.operations[name]!;
    const life = lifetime(connection.signal, options.signal);
    try {
      const late = () => timedOut(`${contract.name}.${name}`, answerTimeout, method !== "POST");
      const response = await within(life, () => send(name, input, options.headers, life), answerTimeout, late);
      const text = await readText(requests, response, name, life);
      if (answer.text !== undefined) return text;
      if (answer.json === undefined) return undefined;
      const origin = { protocol: contract.name, side: "server" as const, subject: name };
      const body = parseJson(text, origin);
      const { checks, reads } = contract;
      const documented = reads.operations?.[name]?.(body) ?? body;
      assertChecked(checkOf(contract, checks, answer.json, reads), documented, origin, "the answer of");
      return documented;
    } catch (error) {
      life.abort(error);
      throw error;
    } finally {
      life.release();
    }
  }

  return { send, call };
}

/** Detects a web page, such as a proxy's login page, where no body was expected. */
const HTML = "text/html";

/** Accepts any text type for an expected text: `text/plain`, `text/x-org`, `application/json`. A web page is not accepted. */
const TEXT = /^(text\/(?!html$)|application\/json$)/;
