import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, test } from "vitest";

test("a sender that awaits each send and nothing else gets to know that its peer has closed", async () => {
  let outcome: unknown;
  const handlers = {
    async session(_, channel) {
      channel.send({ type: "initial_state", files: [], activeFile: null });
      try {
        for (let i = 0; i < 20_000; i++)
          await channel.send({ type: "file_content", filename: "a.based", content: "x".repeat(20_000) });
        outcome = "sent all";
      } catch (error) {
        outcome = error;
      }
    },
  } as Partial<BasedHandlers> as BasedHandlers;
  const server = await listen(serve(based, handlers), { port: 0, closeAfter: 0 });
  const channel = await connect(based, { baseUrl: server.url, webSocket }).session();
  for await (const { type } of channel) if (type !== "initial_state") break;
  await channel.close();
  await expect.poll(() => outcome).toMatchObject({ name: "Disconnected" });
  await server.close();
});
