/**
 * How long it takes until the handler knows that nobody wants its work any more: from each way to stop to the handler's signal, over
 * loopback. `tsx packages/server/bench/cancel.ts`. Client and server are in one process, so each waits for the other's work too.
 */
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { interleave, median, milliseconds, quantile, quick } from "./measure.js";
import { row } from "./row.js";

const ROUNDS = quick ? 20 : 200;

/** Called when the handler knows. */
let known = () => {};

const gateway: Partial<FoldGatewayHandlers> = {
  async *send(_, { signal }) {
    signal.addEventListener("abort", () => known());
    yield { type: "text", text: "one" };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
};
const editor: Partial<LoCoHandlers> = {
  async stream(_, channel, { signal }) {
    signal.addEventListener("abort", () => known());
    channel.send({ type: "server.hello", server_info: { version: "1" } });
    for await (const message of channel) if (message.type === "client.cancel") known();
  },
};
const agent: Partial<EmacsAgentHandlers> = {
  interrupt() {
    known();
    return { status: "interrupted", agent_state: "idle" };
  },
};

const { url: baseUrl, close } = await listen(
  [
    serve(foldGateway, gateway, { partial: true }),
    serve(loco, editor, { partial: true, allowAnonymous: true }),
    serve(emacsAgent, agent, { partial: true }),
  ],
  { port: 0 },
);

async function open(signal?: AbortSignal, resume = true) {
  const stream = connect(foldGateway, { baseUrl, resume }).send({ content: "x" }, { signal });
  const iterator = stream[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done || first.value.type !== "text") throw new Error("the stream did not begin");
  return { stream, iterator };
}

async function openChannel() {
  const client_info = { name: "bench", version: "1", capabilities: [] };
  const channel = await connect(loco, { baseUrl, webSocket }).stream({ session_id: "s" }, { open: { client_info } });
  await channel[Symbol.asyncIterator]().next();
  return channel;
}

/** Each prepares, and returns what stops. */
const ways: Record<string, () => Promise<() => unknown>> = {
  "leaving the loop": async () => (await open()).iterator.return!,
  "stream.cancel()": async () => (await open()).stream.cancel,
  "the caller's signal": async () => {
    const caller = new AbortController();
    await open(caller.signal);
    return () => caller.abort();
  },
  "a cut, without resume": async () => (await open(undefined, false)).stream.cancel,
  "channel.close()": async () => (await openChannel()).close,
  "client.cancel on a channel": async () => {
    const channel = await openChannel();
    return () => channel.send({ type: "client.cancel" });
  },
  "the interrupt operation": async () => {
    const client = connect(emacsAgent, { baseUrl });
    return () => client.interrupt({ session_id: "s" });
  },
};

const times = await interleave(Object.keys(ways), ROUNDS, async (way) => {
  const stop = await ways[way]!();
  return new Promise<number>((resolve) => {
    const begin = performance.now();
    known = () => resolve(performance.now() - begin);
    void stop();
  });
});
console.log("from the caller's stop to the handler's signal (limit 100 ms)");
for (const [way, all] of Object.entries(times)) {
  console.log(`  ${way}: p50 ${milliseconds(median(all))}, p99 ${milliseconds(quantile(all, 0.99))}`);
  row({
    topic: "from the caller's stop to the handler's signal, p50",
    name: way,
    value: median(all),
    unit: "ms",
    less: true,
  });
}
await close();
process.exit();
