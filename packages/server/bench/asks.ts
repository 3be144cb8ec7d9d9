/**
 * What it costs to answer an ask while 100, 1,000 or 4,000 are open on one channel: `tsx packages/server/bench/asks.ts [--quick]`. Client and server
 * are one process without a socket; the figure is its processor time for each answer, and should be the same in all rows. Each row answers the
 * same number in a round, on as many channels one after the other as that takes, so that its share of the collection of garbage is the same.
 */
import { connect } from "@parlance/client";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { median, quick } from "./measure.js";
import { row } from "./row.js";

const ROUNDS = quick ? 3 : 7;
const OPEN = [100, 1000, 4000] as const;
/** Answers of a round. */
const ANSWERS = 4000;

/** Microseconds of processor time for an answer, where so many asks are open. */
async function round(open: number): Promise<number> {
  let time = 0;
  for (let answered = 0; answered < ANSWERS; answered += open) time += await answerAll(open);
  return time / ANSWERS;
}

/** Opens so many asks, and then answers all of them. Returns the microseconds that the answers took. */
async function answerAll(open: number): Promise<number> {
  let answered = (): void => {};
  const all = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const handlers: Partial<LoCoHandlers> = {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      const asks = Array.from({ length: open }, (_, i) =>
        channel.ask({
          type: "tool.request_approval",
          request_id: `${i}`,
          tool_name: "write_file",
          args: {},
          risk_level: "low",
        }),
      );
      const reading = (async () => {
        for await (const _ of channel);
      })();
      await Promise.all(asks);
      answered();
      await reading;
    },
  };
  const app = serve(loco, handlers, { partial: true, allowAnonymous: true, askWithin: 0 });
  const client = connect(loco, {
    baseUrl: "http://localhost",
    fetch: app.fetch,
    webSocket: app.webSocket,
    resume: false,
  });
  const client_info = { name: "bench", version: "1", capabilities: [] };
  const channel = await client.stream({ session_id: "s" }, { open: { client_info } });
  const messages = channel[Symbol.asyncIterator]();
  for (let seen = 0; seen <= open; seen++) await messages.next();
  const start = process.cpuUsage();
  for (let i = 0; i < open; i++)
    await channel.send({ type: "client.approval_response", request_id: `${i}`, approved: true, scope: "all" });
  await all;
  const { user, system } = process.cpuUsage(start);
  await channel.close();
  app.close();
  return user + system;
}

const times: Record<number, number> = {};
// Warm-up for all, or the first would be the slowest.
for (const open of OPEN) await round(open);
for (const open of OPEN) {
  const all: number[] = [];
  while (all.length < ROUNDS) all.push(await round(open));
  times[open] = median(all);
}
console.log("answering an ask, by how many are open");
for (const open of OPEN) {
  const each = times[open]!;
  const ratio = each / times[OPEN[0]]!;
  console.log(`  ${open.toLocaleString("en").padStart(5)} open: ${each.toFixed(1)} µs, ratio ${ratio.toFixed(2)}`);
  const name = `${open.toLocaleString("en")} open, beside ${OPEN[0]}`;
  if (open !== OPEN[0]) row({ topic: "processor time of answering an ask", name, value: ratio, less: true, aim: 1 });
}
