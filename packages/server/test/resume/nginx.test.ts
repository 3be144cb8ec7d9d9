import { readFileSync } from "node:fs";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
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
      // The second is sent only once the first was read: held back, this never ends.
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

it.skipIf(!hasNginx)("behind nginx as docs/deployment.md configures it streams and WebSockets pass", async () => {
  const guide = readFileSync(new URL("../../../../docs/deployment.md", import.meta.url), "utf8");
  const [, documented] = /^```nginx\n([\s\S]*?)^```$/m.exec(guide)!;
  const gateway = serve(
    foldGateway,
    {
      async *send({ content }) {
        yield { type: "done", full_response: content };
      },
    },
    { partial: true },
  );
  const files = serve(based, {
    async session(_, channel) {
      channel.send({ type: "initial_state", files: [], activeFile: null });
      for await (const message of channel)
        if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
    },
  });
  const server = await listen([gateway, files], { port: 0, closeAfter: 0 });
  // Its own address, and no certificate.
  const http = documented!
    .replace("127.0.0.1:8080", new URL(server.url).host)
    .replace("443 ssl", "LISTEN")
    .replaceAll(/^ *ssl_.*$/gm, "");
  const nginx = await startNginx(server.url, http);
  try {
    expect(await connect(foldGateway, { baseUrl: nginx.url }).send({ content: "hello" }).text()).toBe("hello");
    const session = await connect(based, { baseUrl: nginx.url, webSocket }).session();
    expect(await session.ask({ type: "list_files" })).toMatchObject({ files: [] });
    await session.close();
  } finally {
    await nginx.stop();
    await server.close();
  }
});
