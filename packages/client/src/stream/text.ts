import type { AnyContract, AnyMessage, Stream } from "@parlance/wire";
import { misuse } from "@parlance/wire/errors";

/** Reads a stream's text as its contract defines it. An empty final text is ignored, because servers send one after streaming text. */
export async function textOf(
  contract: AnyContract,
  name: string,
  stream: Stream,
  messages: AsyncIterable<AnyMessage>,
): Promise<string> {
  const { append, final = {} } = stream.text ?? {};
  if (!append) throw misuse(`${contract.name}.${name} has no text: read its messages`);
  const parts: string[] = [];
  let whole: string | undefined;
  for await (const message of messages) {
    const fields = message as unknown as Record<string, string>;
    const { type } = message;
    if (append[type] !== undefined) parts.push(fields[append[type]]!);
    else if (final[type] !== undefined) whole = fields[final[type]];
  }
  return whole || parts.join("");
}
