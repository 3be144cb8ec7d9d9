import type { SseWriter } from "../stream/writer.js";

/** What is answered to a request: a text, or a stream that an adapter lets write itself. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | SseWriter;
}
