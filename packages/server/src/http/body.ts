import { type AnyContract, parseJson, Refusal } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";
import { readThrown } from "../thrown.js";

/**
 * Refuses (415) a body that an operation does not read and a page could send without asking: a form's, or plain text's (WHATWG Fetch,
 * section 2.2.2, CORS-safelisted types).
 */
export function refuseForm(request: Request, operation: string): void {
  const type = typeOf(request);
  if (type !== undefined && type !== "application/json")
    throw new Refusal(`${operation} takes no body, and none of ${type}`, { status: 415 });
}

function typeOf({ headers }: Request): string | undefined {
  return headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase();
}

/** Refuses (415) a body that would have to be unpacked, or decoded from anything but UTF-8. */
function refuseEncoded({ headers }: Request, operation: string): void {
  const encoding = headers.get("Content-Encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity")
    throw new Refusal(`the body of ${operation} is sent without Content-Encoding, not as ${encoding}`, { status: 415 });
  const [, charset = "utf-8"] = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers.get("Content-Type") ?? "") ?? [];
  if (!/^utf-?8$/i.test(charset))
    throw new Refusal(`the body of ${operation} is UTF-8, not ${charset}`, { status: 415 });
}

/**
 * Reads a JSON body. No more than `maxMessageSize` bytes are ever held.
 *
 * @throws `Refusal` (408, 413, 415, or 400 for a body that was cut or is not UTF-8) or `Violation`
 */
export async function readBody(
  contract: AnyContract,
  request: Request,
  operation: string,
  { maxMessageSize, bodyWithin }: Limits,
  call: Scope,
): Promise<unknown> {
  const type = typeOf(request);
  if (type !== "application/json")
    throw new Refusal(`the body of ${operation} is application/json, not ${type ?? "without a type"}`, { status: 415 });
  refuseEncoded(request, operation);
  const tooLarge = () => new Refusal(`the body is over the limit of ${maxMessageSize} bytes`, { status: 413 });
  if (Number(request.headers.get("Content-Length") ?? 0) > maxMessageSize) throw tooLarge();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = request.body?.getReader();
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    } catch {
      throw new Refusal("the body is not UTF-8", { status: 400 });
    }
  };
  let text = "";
  let size = 0;
  try {
    for (;;) {
      const read = await within(call, bodyWithin, "the body", () => reader?.read()).catch((error) => {
        throw unread(error, call);
      });
      if (!read || read.done) break;
      size += read.value.length;
      if (size > maxMessageSize) throw tooLarge();
      text += decode(read.value);
    }
    text += decode();
  } catch (error) {
    reader?.cancel().catch(() => {});
    throw error;
  }
  return parseJson(text, { protocol: contract.name, side: "client", subject: operation });
}

/**
 * A body of bytes for its handler, which reads it at its own pace. The stream errors with a `Refusal` (408, 413, or 400 where it was cut).
 *
 * @throws `Refusal` (413, 415) for a body that is not begun
 */
export function uploadOf(
  request: Request,
  type: string,
  operation: string,
  { maxUploadSize, bodyWithin }: Limits,
  call: Scope,
): ReadableStream<Uint8Array> {
  const given = typeOf(request);
  if (given !== type)
    throw new Refusal(`the body of ${operation} is ${type}, not ${given ?? "without a type"}`, { status: 415 });
  const tooLarge = () => new Refusal(`the body is over the limit of ${maxUploadSize} bytes`, { status: 413 });
  if (Number(request.headers.get("Content-Length") ?? 0) > maxUploadSize) throw tooLarge();
  const bytes = request.body?.getReader();
  const drop = () => void bytes?.cancel().catch(() => {});
  // What the handler does not read is dropped with the answer.
  call.add(drop);
  let size = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const read = await within(call, bodyWithin, "the body", () => bytes?.read()).catch((error) => {
            throw unread(error, call);
          });
          if (!read || read.done) return controller.close();
          size += read.value.length;
          if (size > maxUploadSize) throw tooLarge();
          controller.enqueue(read.value);
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

/** A body that stops is its sender's failure, not the server's. */
function unread(error: unknown, call: Scope): unknown {
  if (call.closed) return error;
  return readThrown(() => (error as { code?: unknown } | null)?.code, undefined) === "timeout"
    ? new Refusal("the body did not arrive in time", { status: 408 })
    : new Refusal("the body was cut", { status: 400 });
}
