/**
 * How long a server takes from the start of its process until it has answered its first request, beside bare `node:http` and Fastify:
 * processor time of the whole process. `pnpm bench interop/start-up`.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { interleave, median, milliseconds, quick } from "../../packages/server/bench/measure.js";
import { row } from "../../packages/server/bench/row.js";

const ROUNDS = quick ? 5 : 15;
const SIDES = ["bare", "parlance", "fastify"] as const;
type Side = (typeof SIDES)[number];

/** Each imports what it needs, and nothing of the others. */
const servers: Record<Side, () => Promise<number>> = {
  async bare() {
    const { createServer } = await import("node:http");
    const server = createServer((_, response) => response.end("[]"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as { port: number }).port;
  },
  async parlance() {
    const { foldGateway } = await import("@parlance/protocols/fold-gateway");
    const { serve } = await import("@parlance/server");
    const { listen } = await import("@parlance/server/node");
    return (await listen(serve(foldGateway, { listAgents: () => [] }, { partial: true }), { port: 0 })).port;
  },
  async fastify() {
    const app = (await import("fastify")).default();
    app.get("/api/agents", async () => []);
    await app.listen({ port: 0, host: "127.0.0.1" });
    return (app.server.address() as { port: number }).port;
  },
};

const [, program, command, side] = process.argv;
if (command === "server") {
  const port = await servers[side as Side]();
  const { get } = await import("node:http");
  const [answer] = await once(get({ port, path: "/api/agents", host: "127.0.0.1" }), "response");
  if (answer.statusCode !== 200) throw new Error(`the first request is answered with ${answer.statusCode}`);
  const { user, system } = process.cpuUsage();
  process.send!(user + system, () => process.exit());
} else {
  const figures = await interleave(SIDES, ROUNDS, async (one) => {
    const [microseconds] = await once(fork(program ?? fileURLToPath(import.meta.url), ["server", one]), "message");
    return microseconds / 1000;
  });
  console.log("a process from its start to its first answer, processor time");
  for (const one of SIDES) {
    const value = median(figures[one]);
    console.log(`  ${one}: ${milliseconds(value)}`);
    row({ topic: "start-up with the first request", name: one, value, unit: "ms", less: true });
  }
}
