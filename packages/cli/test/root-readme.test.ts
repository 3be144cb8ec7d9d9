import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { afterAll } from "vitest";
import { testFences } from "./fences.js";

// The README's client expects a gateway, and its server a port.
const gateway = await listen(
  serve(foldGateway, {
    health: () => "OK",
    ready: () => "OK",
    listAgents: () => [],
    async *send({ content }) {
      yield { type: "done", full_response: content };
    },
  }),
  { port: 0 },
);
process.env.GATEWAY = gateway.url;
process.env.PORT = "0";
afterAll(() => gateway.close());

testFences(new URL("../../../README.md", import.meta.url));
