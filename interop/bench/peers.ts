import { HttpAgent } from "@ag-ui/client";
import Anthropic from "@anthropic-ai/sdk";
import { parseJsonEventStream, uiMessageChunkSchema } from "ai";
import { createEventSource } from "eventsource-client";
import OpenAI from "openai";
import { Stream } from "openai/core/streaming";

/** Reads an answer until it has so many messages, parsed. No network. */
type Reader = (answer: Response, most: number) => Promise<number>;

/** What other packages read any stream with. */
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

/** A package's client, with the events of a conversation of its own protocol in which each text is one message. */
interface OwnClient {
  events(texts: readonly string[]): string[];
  /** Counts the texts of one conversation, which has `most`. */
  read(answer: () => Response, most: number): Promise<number>;
}

const event = (value: unknown, name?: string) => `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string }) => event(value, value.type);
const BASE = "http://localhost";

export const clients: Readonly<Record<string, OwnClient>> = {
  "eventsource-client": {
    events: (texts) => texts.map((text) => event({ text }, "text")),
    read: (answer, most) => peers["eventsource-client"]!(answer(), most),
  },
  "@ag-ui/client": {
    events: (texts) => [
      event({ type: "RUN_STARTED", threadId: "t", runId: "r" }),
      event({ type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" }),
      ...texts.map((delta) => event({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta })),
      event({ type: "TEXT_MESSAGE_END", messageId: "m" }),
      event({ type: "RUN_FINISHED", threadId: "t", runId: "r" }),
    ],
    async read(answer) {
      let texts = 0;
      const { fetch } = globalThis;
      // The client takes none as an option.
      globalThis.fetch = async () => answer();
      const input = { threadId: "t", runId: "r", messages: [], tools: [], context: [], state: {}, forwardedProps: {} };
      await new Promise<void>((resolve, reject) =>
        new HttpAgent({ url: BASE }).run(input).subscribe({
          next: ({ type }) => {
            if (type === "TEXT_MESSAGE_CONTENT") texts++;
          },
          complete: resolve,
          error: reject,
        }),
      );
      globalThis.fetch = fetch;
      return texts;
    },
  },
  "@anthropic-ai/sdk": {
    events: (texts) => [
      named({
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          content: [],
          model: "m",
          stop_reason: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      } as { type: string }),
      ...texts.map((text) =>
        named({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } } as { type: string }),
      ),
      named({ type: "message_stop" }),
    ],
    async read(answer) {
      const client = new Anthropic({ apiKey: "x", baseURL: BASE, fetch: async () => answer() });
      let texts = 0;
      const stream = await client.messages.create({ model: "m", max_tokens: 1, messages: [], stream: true });
      for await (const { type } of stream) if (type === "content_block_delta") texts++;
      return texts;
    },
  },
  openai: {
    events: (texts) => [
      ...texts.map((content) =>
        event({
          id: "c",
          object: "chat.completion.chunk",
          created: 1,
          model: "m",
          choices: [{ index: 0, delta: { content }, finish_reason: null }],
        }),
      ),
      "data: [DONE]\n\n",
    ],
    async read(answer) {
      const client = new OpenAI({ apiKey: "x", baseURL: BASE, fetch: async () => answer() });
      let texts = 0;
      const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
      for await (const { choices } of stream) if (choices[0]?.delta.content) texts++;
      return texts;
    },
  },
  ai: {
    events: (texts) => [
      event({ type: "start" }),
      event({ type: "text-start", id: "1" }),
      ...texts.map((delta) => event({ type: "text-delta", id: "1", delta })),
      event({ type: "text-end", id: "1" }),
      event({ type: "finish" }),
      "data: [DONE]\n\n",
    ],
    async read(answer) {
      let texts = 0;
      const chunks = parseJsonEventStream({ stream: answer().body!, schema: uiMessageChunkSchema });
      for await (const chunk of chunks) if (chunk.success && chunk.value.type === "text-delta") texts++;
      return texts;
    },
  },
};
