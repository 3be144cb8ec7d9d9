import type { SseWriter } from "../stream/writer.js";
import type { HttpRequest } from "./request.js";

/** The answer to a request: a text, or a stream that writes itself to an adapter's sink. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | SseWriter;
  /** Bytes of a body that are in memory already. */
  readonly size?: number | undefined;
}

// HEAD is answered as GET without the body (RFC 9110, section 9.3.2).

/** The method whose operations answer a request. */
export function methodOf(method: string): string {
  return method === "HEAD" ? "GET" : method;
}

/** The answer without its body, where only its head was asked for. A text keeps its length. */
export function headOf({ method }: Pick<HttpRequest, "method">, answer: Answer): Answer {
  if (method !== "HEAD") return answer;
  const { status, headers, body } = answer;
  const length = typeof body === "string" && body !== "" && { "Content-Length": String(bytesOf(body)) };
  return { status, headers: { ...headers, ...length }, body: "" };
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
