import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import type { EventLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect } from "vitest";

/** How a connected reader takes its stream: as it comes, or a piece after so many turns of the event loop. */
export type Speed = "fast" | "slow";

/** A reader, on the server that runs the stream (0) or on another one (1). */
export interface ReaderOf {
  readonly speed: Speed;
  readonly server: 0 | 1;
}

/** Streams messages of these sizes to readers that are all connected before the second one, and expects that each reader gets each message once. */
export async function expectEverything(
  sizes: readonly number[],
  readers: readonly ReaderOf[],
  logs: readonly [EventLog, EventLog],
  options: ServeOptions = {},
): Promise<void> {
  let begin = (): void => {};
  const connected = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const pubSub = memoryPubSub();
  const isClustered = readers.some(({ server }) => server === 1);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const apps = logs.map((log) =>
    serve(
      foldGateway,
      {
        async *send() {
          yield { type: "text", text: "0" };
          await connected;
          for (const [i, size] of sizes.entries()) yield { type: "text", text: `${i + 1}`.padEnd(size, "-") };
          yield { type: "done", full_response: "" };
        },
      } satisfies Partial<FoldGatewayHandlers>,
      { onError, log, ...(isClustered && { cluster: clusterOn(pubSub) }), ...options, partial: true },
    ),
  );
  const key = newKey();
  const headers = { "Content-Type": "application/json", [RESUME]: key };
  const bodies: Promise<string>[] = [];
  try {
    for (const [i, { speed, server }] of readers.entries()) {
      const init = i === 0 ? { method: "POST", body: '{"content":"x"}' } : {};
      const answer = await apps[server]!.fetch(new Request("http://localhost/api/send", { headers, ...init }));
      expect(answer.status).toBe(200);
      bodies.push(read(answer, speed));
    }
    begin();
    const texts = await Promise.all(bodies.map((body) => body.catch(String)));
    expect(errors).toEqual([]);
    const wanted = [...Array(sizes.length + 1).keys()];
    for (const text of texts) expect(messagesOf(text)).toEqual([...wanted, "done"]);
  } finally {
    await Promise.all(apps.map((app: App) => app.close()));
  }
}

async function read(answer: Response, speed: Speed): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    for (let turn = 0; speed === "slow" && turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  return text;
}

/** The number of each message, and "done" for the last one. */
function messagesOf(body: string): readonly (number | string)[] {
  return [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => {
    const { text } = JSON.parse(data!) as { text?: string };
    return text === undefined ? "done" : Number.parseInt(text, 10);
  });
}
