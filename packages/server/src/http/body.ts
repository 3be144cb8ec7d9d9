import { parseJson, Refusal } from "@parlance/wire";
import { brief, MAX_NAME } from "@parlance/wire/errors";
import { mediaType } from "@parlance/wire/internal/http";
import { type Scope, within } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import { readThrown } from "../callback.js";
import { type Tally, weigh } from "../ledger.js";
import type { Limits } from "../limits.js";
import type { BodyReader, HttpRequest } from "./request.js";

/**
 * Refuses (415) a form or plain text sent to an operation without a body, because a page could send it without a preflight (WHATWG Fetch,
 * section 2.2.2, CORS-safelisted types).
 */
export function refuseForm(request: HttpRequest, operation: string): void {
  const type = typeOf(request);
  if (type !== undefined && type !== "application/json")
    throw new Refusal(`${operation} takes no body, and none of ${brief(type, MAX_NAME)}`, { status: 415 });
}

function typeOf({ headers }: HttpRequest): string | undefined {
  return mediaType(headers.get("Content-Type"));
}

/** Refuses (415) a body with a content encoding, or with a charset other than UTF-8. */
function refuseEncoded({ headers }: HttpRequest, operation: string): void {
  const encoding = headers.get("Content-Encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity")
    throw new Refusal(
      `the body of ${operation} is sent without Content-Encoding, not as ${brief(encoding, MAX_NAME)}`,
      { status: 415 },
    );
  const [, charset = "utf-8"] = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers.get("Content-Type") ?? "") ?? [];
  if (!/^utf-?8$/i.test(charset))
    throw new Refusal(`the body of ${operation} is UTF-8, not ${brief(charset, MAX_NAME)}`, { status: 415 });
}

/**
 * Reads a JSON body. No more than `maxMessageSize` bytes are ever held, and what is held is counted.
 *
 * @throws `Refusal` (408, 413, 415, 429 or 503 where too much is held, or 400 for a body that was cut or is not UTF-8) or `Violation`
 */
export async function readBody(
  { contract, limits }: Pick<Context, "contract" | "limits">,
  request: HttpRequest,
  operation: string,
  received: Tally,
  call: Scope,
): Promise<unknown> {
  const type = typeOf(request);
  if (type !== "application/json")
    throw new Refusal(
      `the body of ${operation} is application/json, not ${brief(type ?? "without a type", MAX_NAME)}`,
      { status: 415 },
    );
  refuseEncoded(request, operation);
  refuseLarge(Number(request.headers.get("Content-Length") ?? 0), limits.maxMessageSize);
  const body = request.body();
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    // The parser of Node reads the rest of the packet after this turn: a small body is whole then, and needs no wait.
    await undefined;
    for (;;) {
      const coming = next(body, limits, call);
      const piece = coming instanceof Promise ? await coming : coming;
      if (!piece) break;
      size += piece.length;
      refuseLarge(size, limits.maxMessageSize);
      received.add(piece.length);
      pieces.push(piece);
    }
  } catch (error) {
    body?.cancel();
    throw error;
  }
  const text = decode(pieces, size);
  received.add(weigh(text) - size);
  return parseJson(text, { protocol: contract.name, side: "client", subject: operation });
}

/** The next piece of a body, within its limit. */
function next(body: BodyReader | undefined, { bodyWithin }: Limits, call: Scope): ReturnType<BodyReader["read"]> {
  const piece = body?.read();
  if (!(piece instanceof Promise)) return piece;
  return within(call, bodyWithin, "the body", piece).catch((error) => {
    throw unread(error, call);
  });
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decode(pieces: readonly Uint8Array[], size: number): string {
  try {
    return UTF8.decode(pieces.length === 1 ? pieces[0] : joined(pieces, size));
  } catch {
    throw new Refusal("the body is not UTF-8", { status: 400 });
  }
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function refuseLarge(size: number, limit: number): void {
  if (size > limit) throw new Refusal(`the body is over the limit of ${limit} bytes`, { status: 413 });
}

/**
 * A body of bytes for its handler, which reads it at its own pace. The stream errors with a `Refusal` (408, 413, or 400 where it was cut).
 *
 * @throws `Refusal` (413, 415) for a body that is not begun
 */
export function uploadOf(
  request: HttpRequest,
  type: string,
  operation: string,
  limits: Limits,
  call: Scope,
): ReadableStream<Uint8Array> {
  const given = typeOf(request);
  if (given !== type)
    throw new Refusal(`the body of ${operation} is ${type}, not ${brief(given ?? "without a type", MAX_NAME)}`, {
      status: 415,
    });
  refuseLarge(Number(request.headers.get("Content-Length") ?? 0), limits.maxUploadSize);
  const body = request.body();
  const drop = () => body?.cancel();
  // What the handler does not read is dropped with the answer.
  call.add(drop);
  let size = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await next(body, limits, call);
          if (!piece) return controller.close();
          size += piece.length;
          refuseLarge(size, limits.maxUploadSize);
          controller.enqueue(piece);
        } catch (error) {
          drop();
          controller.error(error);
        }
      },
      cancel: drop,
    },
    { highWaterMark: 0 },
  );
}

/** Turns a failed read into a refusal, because the sender failed, not the server. */
function unread(error: unknown, call: Scope): unknown {
  if (call.closed) return error;
  return readThrown(() => (error as { code?: unknown } | null)?.code, undefined) === "timeout"
    ? new Refusal("the body did not arrive in time", { status: 408 })
    : new Refusal("the body was cut", { status: 400 });
}
