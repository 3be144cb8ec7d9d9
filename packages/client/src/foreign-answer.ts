import { misuse } from "@parlance/wire/errors";

/** An answer of a `fetch` that does not give web streams. */
interface ForeignAnswer extends Pick<Response, "status" | "ok" | "headers" | "url" | "redirected" | "text"> {
  /** A Node stream of the package node-fetch. React Native has none. */
  readonly body?: AsyncIterable<Uint8Array>;
  readonly arrayBuffer?: () => Promise<ArrayBuffer>;
}

/**
 * Makes an answer readable whose body is a Node stream, or which can only be read as a whole.
 *
 * @throws `TypeError` where the answer streams and has no body
 */
export function readable(answer: unknown, what: string, streams: boolean): Response {
  const { status, ok, headers, url, redirected, body } = answer as ForeignAnswer;
  if (!body && ok && streams)
    throw misuse(
      `${what} needs an answer with a \`body\` that streams, which this \`fetch\` does not give: pass one that does, such as that of expo/fetch`,
    );
  const chunks = body ? iteratorOf(body) : whole(answer as ForeignAnswer);
  const cancel = async () => void (await chunks.return?.());
  const reader = { read: () => chunks.next(), cancel };
  const stream = { locked: false, getReader: () => reader, cancel };
  return { status, ok, headers, url, redirected, body: stream } as unknown as Response;
}

function iteratorOf(body: AsyncIterable<Uint8Array>): AsyncIterator<Uint8Array> {
  const make = body[Symbol.asyncIterator];
  if (!make) throw new TypeError("`fetch` gave no Response that can be read");
  return make.call(body);
}

async function* whole(answer: ForeignAnswer): AsyncGenerator<Uint8Array> {
  yield answer.arrayBuffer ? new Uint8Array(await answer.arrayBuffer()) : new TextEncoder().encode(await answer.text());
}
