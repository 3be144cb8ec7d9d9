import type { AnyContract, AnyMessage, Stream } from "@parlance/wire";
import { misuse } from "@parlance/wire/errors";
import { unloadedLate } from "../failures.js";

/**
 * Reads a stream's text as its contract defines it. An empty final text is ignored, because servers send one after streaming text.
 *
 * @throws `Refusal` where the stream ends in a message that reports a failure. A final text after it means that the work continued.
 */
export async function textOf(
  contract: AnyContract,
  name: string,
  stream: Stream,
  messages: AsyncIterable<AnyMessage>,
): Promise<string> {
  const { append, final = {} } = stream.text ?? {};
  if (!append) throw misuse(`${contract.name}.${name} has no text: read its messages`);
  const isLast = (type: string): boolean => [...(stream.end ?? []), ...(stream.mayEnd ?? [])].includes(type);
  const parts: string[] = [];
  let whole: string | undefined;
  let failure: AnyMessage | undefined;
  for await (const message of messages) {
    const fields = message as unknown as Record<string, string>;
    const { type } = message;
    if (append[type] !== undefined) parts.push(fields[append[type]]!);
    else if (final[type] !== undefined) {
      whole = fields[final[type]];
      failure = undefined;
    } else if (contract.messages[type]?.fault && isLast(type)) failure = message;
  }
  if (failure) {
    const { unfaultMessage } = await import("../causes.js").catch(unloadedLate);
    throw unfaultMessage(contract, failure)!;
  }
  return whole || parts.join("");
}
