import { decoder, type SseEvent } from "@parlance/wire";

/** The pieces in which a text may arrive: whole, cut in two at every byte, and one byte at a time. */
export function* chunkings(bytes: Uint8Array): Generator<readonly Uint8Array[]> {
  yield [bytes];
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

export interface Heard {
  readonly events: SseEvent[];
  readonly retries: number[];
  readonly comments: string[];
  tooLarge: boolean;
}

/** What a decoder hears in these chunks of bytes, which may be cut inside a code point. */
export function hear(chunks: Iterable<Uint8Array>, maxSize = Number.POSITIVE_INFINITY): Heard {
  const heard: Heard = { events: [], retries: [], comments: [], tooLarge: false };
  const text = new TextDecoder();
  const { push } = decoder({
    maxSize,
    onEvent: (event) => heard.events.push(event),
    onRetry: (milliseconds) => heard.retries.push(milliseconds),
    onComment: (comment) => heard.comments.push(comment),
    onTooLarge: () => {
      heard.tooLarge = true;
    },
  });
  for (const chunk of chunks) push(text.decode(chunk, { stream: true }));
  push(text.decode());
  return heard;
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
