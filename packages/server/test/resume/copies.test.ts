import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal, serve } from "@parlance/server";
import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, it, onTestFinished, vi } from "vitest";
import { fixture, newLedger } from "./conversations.js";
import { texts } from "./run-conversation.js";

// A proxy may bring the copy of a request before the request itself: both are read, and the handler runs once.
it.each([1, 2])(
  "each copy of a POST is answered with the same stream, which is begun once (%i servers)",
  async (count) => {
    const [log, ledger, tag] = [memoryLog(), newLedger(), `copied${count}-40`];
    const stages = await Promise.all(Array.from({ length: count }, () => fixture({ log }, {}, ledger)));
    onTestFinished(async () => {
      for (const { server } of stages) await server.close();
    });
    const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
    const body = JSON.stringify({ content: tag });
    const answers = await Promise.all(
      [0, 1, 2, 3].map(async (i) => {
        const { memory } = stages[i % count]!;
        const response = await memory.fetch(
          new Request(`${memory.baseUrl}/api/send`, { method: "POST", headers, body }),
        );
        return { status: response.status, text: await response.text() };
      }),
    );
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text.match(/copied\d-40:\d+/g)).toEqual(texts(tag));
    }
    expect(ledger.begun.get(tag)).toBe(1);
  },
);

it.each(
  [1, 2].flatMap((count) =>
    [
      { with: "with a status", status: 503, refusal: () => new Refusal("busy", { status: 503, retryAfter: 7 }) },
      { with: "by an error", status: 500, refusal: () => new Error("broken") },
    ].map((how) => ({ count, ...how })),
  ),
)("each copy of a POST that the handler refuses $with gets the same refusal ($count servers)", async (how) => {
  const [log, pubSub] = [memoryLog(), memoryPubSub()];
  let begun = 0;
  let refuse = (_: unknown): void => {};
  const refusing = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const handlers = {
    send() {
      begun++;
      return refusing;
    },
  } as unknown as FoldGatewayHandlers;
  const apps = Array.from({ length: how.count }, () => serve(foldGateway, handlers, { log, pubSub, onError: false }));
  const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
  const post = { method: "POST", headers, body: '{"content":"x"}' };
  const answers = [0, 1, 2, 3].map(async (i) => {
    const response = await apps[i % how.count]!.fetch(new Request("http://localhost/api/send", post));
    return { status: response.status, after: response.headers.get("Retry-After"), text: await response.text() };
  });
  // All of them wait for the handler.
  await vi.waitFor(() => expect(apps.reduce((sum, app) => sum + app.stats().readers, 0)).toBe(3));
  refuse(how.refusal());
  const [first, ...copies] = await Promise.all(answers);
  expect(first!.status).toBe(how.status);
  expect(copies).toEqual([first, first, first]);
  expect(begun).toBe(1);
});
