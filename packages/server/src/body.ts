import { type AnyContract, parseJson, Refusal } from "@parlance/wire";

/** Reads a JSON body. Throws `Refusal` (413, 415) or `Violation`; no more than `maxSize` bytes are ever held. */
export async function readBody(
  contract: AnyContract,
  request: Request,
  operation: string,
  maxSize: number,
): Promise<unknown> {
  const type = request.headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase();
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
