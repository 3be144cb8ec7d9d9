/**
 * Measures the first event of a stream from the handler to the reader, directly and through an nginx with its defaults, while the second
 * is not sent yet: a proxy that buffers would never pass it on. `tsx packages/server/bench/first-event.ts`.
 */
import { connect } from "@parlance/client";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { hasNginx, startNginx } from "../test/resume/nginx.js";
import { interleave, median, milliseconds, quantile, quick } from "./measure.js";
import { row } from "./row.js";

const ROUNDS = quick ? 20 : 200;

let saidAt = 0;
let go = () => {};
const handlers: Partial<FoldGatewayHandlers> = {
  async *send() {
    const read = new Promise<void>((resolve) => {
      go = resolve;
    });
    saidAt = performance.now();
    yield { type: "text", text: "one" };
    await read;
    yield { type: "done", full_response: "one" };
  },
};

async function firstEvent(baseUrl: string): Promise<number> {
  let took: number | undefined;
  for await (const message of connect(foldGateway, { baseUrl }).send({ content: "x" })) {
    took ??= performance.now() - saidAt;
    if (message.type === "text") go();
    else if (message.type !== "done" || message.full_response !== "one") throw new Error(JSON.stringify(message));
  }
  if (took === undefined) throw new Error("nothing arrived");
  return took;
}

const server = await listen(serve(foldGateway, handlers, { partial: true }), { port: 0 });
const nginx = hasNginx ? await startNginx(server.url) : undefined;
const urls = { directly: server.url, ...(nginx && { "through nginx": nginx.url }) };
const times = await interleave(Object.keys(urls) as (keyof typeof urls)[], ROUNDS, (side) => firstEvent(urls[side]!));
console.log("the first event of a stream, the second not said yet");
for (const [side, all] of Object.entries(times)) {
  console.log(`  ${side}: p50 ${milliseconds(median(all))}, p99 ${milliseconds(quantile(all, 0.99))}`);
  row({ topic: "the first event of a stream, p50", name: side, value: median(all), unit: "ms", less: true });
}
await nginx?.stop();
await server.close();
