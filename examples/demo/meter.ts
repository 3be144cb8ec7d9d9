import { webSocket } from "@parlance/client/node";
import type { Story } from "./story.js";

/** The traffic, counted at the client. */
export interface Meter {
  readonly connection: Story["connection"];
  /** Bytes of bodies and frames, both ways. */
  bytes: number;
  /** SSE events, WebSocket frames and bodies, both ways. */
  messages: number;
}

/** Connection options that count their traffic. */
export function meter(): Meter {
  const counted: Meter = { connection: { fetch: countFetch, webSocket: countSocket }, bytes: 0, messages: 0 };

  function count(text: string | Uint8Array, messages: number): void {
    counted.bytes += typeof text === "string" ? Buffer.byteLength(text) : text.length;
    counted.messages += messages;
  }

  async function countFetch(request: Request): Promise<Response> {
    if (request.body) count(await request.clone().text(), 1);
    const response = await fetch(request);
    const streamed = response.headers.get("Content-Type")?.startsWith("text/event-stream");
    if (!streamed) counted.messages++;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        count(chunk, streamed ? Buffer.from(chunk).toString("latin1").split("\n\n").length - 1 : 0);
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body?.pipeThrough(counter), response);
  }

  async function countSocket(...args: Parameters<typeof webSocket>): ReturnType<typeof webSocket> {
    const port = await webSocket(...args);
    if ("refused" in port) return port;
    return {
      close: port.close,
      send(frame) {
        count(frame, 1);
        port.send(frame);
      },
      listen: (on) =>
        port.listen({
          close: on.close,
          frame(text) {
            count(text, 1);
            on.frame(text);
          },
        }),
    };
  }
  return counted;
}
