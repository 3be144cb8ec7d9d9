import { type AnyContract, parseJson, Refusal } from "@parlance/wire";

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

/** Reads a JSON body. Throws `Refusal` (413, 415) or `Violation`; no more than `maxSize` bytes are ever held. */
export async function readBody(
  contract: AnyContract,
  request: Request,
  operation: string,
  maxSize: number,
): Promise<unknown> {
  const type = typeOf(request);
  if (type !== "application/json")
    throw new Refusal(`the body of ${operation} is application/json, not ${type ?? "without a type"}`, { status: 415 });
  const tooLarge = () => new Refusal(`the body is over the limit of ${maxSize} bytes`, { status: 413 });
  if (Number(request.headers.get("Content-Length") ?? 0) > maxSize) throw tooLarge();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = request.body?.getReader();
  let text = "";
  let size = 0;
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      size += read.value.length;
      if (size > maxSize) throw tooLarge();
      text += decoder.decode(read.value, { stream: true });
    }
    text += decoder.decode();
  } catch (error) {
    reader?.cancel().catch(() => {});
    if (error instanceof TypeError) throw new Refusal("the body is not UTF-8", { status: 400 });
    throw error;
  }
  return parseJson(text, { protocol: contract.name, side: "client", subject: operation });
}
