import type { SseWriter } from "../stream/writer.js";

/** The answer to a request: a text, or a stream that writes itself to an adapter's sink. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | SseWriter;
  /** Bytes of a body that are in memory already. */
  readonly size?: number | undefined;
}
