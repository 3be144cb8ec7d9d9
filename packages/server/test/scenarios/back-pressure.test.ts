import { setImmediate as tick } from "node:timers/promises";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { expect, test } from "vitest";

/** Characters of one message. */
const SIZE = 20_000;

test.each([1, 2, 5])("a body that is read late, %i messages a tick, has every message", async (together) => {
  const count = 20 * together;
  const handlers = {
    async *send() {
      for (let i = 1; i <= count; i++) {
        yield { type: "text", text: "x".repeat(SIZE) };
        if (i % together === 0) await tick();
      }
      yield { type: "done", full_response: "" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const app = serve(foldGateway, handlers, { stall: 1000 });
  const headers = { "Content-Type": "application/json" };
  const request = new Request("http://localhost/api/send", { method: "POST", headers, body: '{"content":"go"}' });
  const response = await app.fetch(request);
  for (let i = 0; i < 2 * count; i++) await tick();
  const text = await response.text();
  expect(text.match(/event: text/g)).toHaveLength(count);
  expect(text).toMatch(/event: done/);
  app.close();
});
