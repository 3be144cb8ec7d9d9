import { createEventSource } from "eventsource-client";
import { Stream } from "openai/core/streaming";

/** Reads an answer until it has so many messages, parsed. No network. */
type Reader = (answer: Response, most: number) => Promise<number>;

/** What other packages read a stream with. */
export const peers: Readonly<Record<string, Reader>> = {
  async openai(answer, most) {
    let messages = 0;
    for await (const _ of Stream.fromSSEResponse(answer, new AbortController())) if (++messages === most) break;
    return messages;
  },
  async "eventsource-client"(answer, most) {
    let messages = 0;
    const source = createEventSource({ url: "http://localhost", fetch: async () => answer });
    for await (const { data } of source) {
      JSON.parse(data);
      if (++messages === most) break;
    }
    source.close();
    return messages;
  },
};
