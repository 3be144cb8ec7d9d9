import { connect } from "@parlance/client";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, it } from "vitest";
import { hasNginx, startNginx } from "./nginx.js";

it.skipIf(!hasNginx)(
  "behind nginx with its defaults the first event is not held back until the second",
  async () => {
    let go = () => {};
    const handlers = {
      async *send() {
        yield { type: "text", text: "one" };
        await new Promise<void>((resolve) => {
          go = resolve;
        });
        yield { type: "done", full_response: "one" };
      },
    } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
    const server = await listen(serve(foldGateway, handlers), { port: 0, closeAfter: 0 });
    const nginx = await startNginx(server.url);
    try {
      const reader = connect(foldGateway, { baseUrl: nginx.url }).send({ content: "x" })[Symbol.asyncIterator]();
      // The second is said only once the first was read: held back, this never ends.
      expect((await reader.next()).value).toEqual({ type: "text", text: "one" });
      go();
      expect((await reader.next()).value).toMatchObject({ type: "done" });
      await reader.return?.();
    } finally {
      await nginx.stop();
      await server.close();
    }
  },
  30_000,
);
