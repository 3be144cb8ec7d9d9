import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, test } from "vitest";

test("smoke", async () => {
  const app = serve(
    foldGateway,
    {
      health: () => "OK",
      ready: () => "ready (1 agents)",
      listAgents: () => [{ id: "1", name: "echo", capabilities: ["chat"] }],
      async *send({ content }) {
        yield { type: "text", text: content };
        yield { type: "done", full_response: content };
      },
    },
    { hooks: { refuse: (_r, _f, cause) => console.log(cause) } },
  );
  const server = await listen(app);
  for (const options of [{ fetch: app.fetch, webSocket: app.webSocket }, { baseUrl: server.url }]) {
    const c = connect(foldGateway, options);
    expect(await c.health()).toBe("OK");
    expect(await c.listAgents()).toHaveLength(1);
    const got = [];
    for await (const m of c.send({ content: "hi" })) got.push(m);
    expect(got).toEqual([
      { type: "text", text: "hi" },
      { type: "done", full_response: "hi" },
    ]);
    expect(await c.send({ content: "yo" }).text()).toBe("yo");
  }
  await server.close();
});
