import { getEventListeners } from "node:events";
import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { describe, expect, onTestFinished, test } from "vitest";

/** A gateway whose answers wait to be let go, and a channel. Each thing begun ends on demand. */
function beginning(ofClient: AbortSignal | undefined, signal: AbortSignal | undefined) {
  const gates: (() => void)[] = [];
  const gate = () => new Promise<void>((resolve) => gates.push(resolve));
  const gateway = serve(
    foldGateway,
    {
      async health() {
        await gate();
        return "OK";
      },
      async *send() {
        yield { type: "text", text: "a" };
        await gate();
        yield { type: "done", full_response: "a" };
      },
    },
    { partial: true },
  );
  const agent = serve(based, {
    async session(_, channel) {
      for await (const _message of channel);
    },
  });
  onTestFinished(() => {
    gateway.close();
    agent.close();
  });
  const http = connect(foldGateway, { fetch: gateway.fetch, signal: ofClient });
  const sockets = connect(based, { fetch: agent.fetch, webSocket: agent.webSocket, signal: ofClient });
  /** Waits until the handler is at its gate, so that each thing has its own. */
  async function gated(result: Promise<unknown>, count = gates.length) {
    await expect.poll(() => gates.length, { interval: 1 }).toBe(count + 1);
    return { result, end: gates[count]! };
  }
  return {
    call: () => gated(http.health({ signal })),
    stream: () => gated(http.send({ content: "x" }, { signal }).text()),
    async channel() {
      const channel = await sockets.session({ signal });
      return { result: channel.closed, end: () => void channel.close() };
    },
  };
}

function ordersOf<T>(things: readonly T[]): T[][] {
  if (things.length === 0) return [[]];
  return things.flatMap((thing, at) => ordersOf(things.toSpliced(at, 1)).map((rest) => [thing, ...rest]));
}

const kinds = ["call", "stream", "channel", "call"] as const;

describe.each(["connect's signal", "the signal that calls share", "both"])("On %s", (where) => {
  const caller = () => {
    const controller = new AbortController();
    const { signal } = controller;
    const begin = beginning(where.startsWith("the") ? undefined : signal, where.startsWith("c") ? undefined : signal);
    return { controller, begin, listeners: () => getEventListeners(signal, "abort").length };
  };

  test("whatever overlaps shares one listener, and none is left, in whichever order it ends", async () => {
    const { begin, listeners } = caller();
    for (const order of ordersOf([0, 1, 2, 3])) {
      const begun: Awaited<ReturnType<typeof begin.call>>[] = [];
      for (const kind of kinds) begun.push(await begin[kind]());
      for (const at of order) {
        expect([order, listeners()]).toEqual([order, 1]);
        begun[at]!.end();
        await begun[at]!.result;
      }
      await expect.poll(listeners, { interval: 1 }).toBe(0);
    }
  });

  test.each([0, 2])("an abort ends what is left after %d have ended", async (ended) => {
    for (const order of ordersOf([0, 1, 2, 3])) {
      const { controller, begin, listeners } = caller();
      const begun: Awaited<ReturnType<typeof begin.call>>[] = [];
      for (const kind of kinds) begun.push(await begin[kind]());
      for (const at of order.slice(0, ended)) {
        begun[at]!.end();
        await begun[at]!.result;
      }
      const why = new Error("enough");
      const left = order.slice(ended).map((at) => begun[at]!.result.catch((error: unknown) => error));
      controller.abort(why);
      for (const error of await Promise.all(left)) expect(error).toBe(why);
      await expect.poll(listeners, { interval: 1 }).toBe(0);
    }
  });
});

test.each(["calls", "streams"])("many overlapping pairs of %s leave no listener", async (what) => {
  const app = serve(
    foldGateway,
    {
      health: () => "OK",
      async *send() {
        yield { type: "done", full_response: "a" };
      },
    },
    { partial: true },
  );
  onTestFinished(() => app.close());
  const { signal } = new AbortController();
  const client = connect(foldGateway, { fetch: app.fetch, signal });
  const one = () => (what === "calls" ? client.health() : client.send({ content: "x" }).text());
  for (let pair = 0; pair < 100; pair++) await Promise.all([one(), one()]);
  await expect.poll(() => getEventListeners(signal, "abort").length, { interval: 1 }).toBe(0);
});
