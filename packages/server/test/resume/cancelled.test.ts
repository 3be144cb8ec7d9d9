import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, test, vi } from "vitest";
import { tracked } from "../cluster.js";

const ADDRESS = "http://localhost/api/send";

/** Servers of one log and one pub/sub, whose streams send one word and then nothing. */
function servers(count: number) {
  const [log, inner] = [memoryLog(), memoryPubSub()];
  const topics = new Set<string>();
  const pubSub = tracked({
    ...inner,
    async subscribe(topic, receive, onMissed) {
      const unsubscribe = await inner.subscribe(topic, receive, onMissed);
      topics.add(topic);
      return () => {
        topics.delete(topic);
        unsubscribe();
      };
    },
  });
  const aborted: unknown[] = [];
  const handlers = {
    async *send(_, { signal }) {
      yield { type: "text", text: "one" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted.push(signal.reason);
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const apps = Array.from({ length: count }, () =>
    serve(foldGateway, handlers, { log, cluster: clusterOn(pubSub), grace: 60_000, tombstoneLife: 20, heartbeat: 0 }),
  );
  return { apps, aborted, isListening: () => [...topics].some((topic) => topic.startsWith("stream/")) };
}

test.each(
  [0, 1].flatMap((cancelledOn) =>
    [0, 2].flatMap((joined) => ["read", "stalled"].map((how) => ({ cancelledOn, joined, how }))),
  ),
)(
  "a cancel ends the handler and every reader at once, and nothing of the stream is held: %o",
  async ({ cancelledOn, joined, how }) => {
    const { apps, aborted, isListening } = servers(2);
    const stats = () => apps.map((app) => app.stats());
    // A server that was asked nothing yet is on its way to greet the others.
    await vi.waitFor(async () => {
      const before = stats();
      await new Promise(setImmediate);
      expect(stats()).toEqual(before);
    });
    const rest = stats();
    const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
    const post = () => new Request(ADDRESS, { method: "POST", headers, body: '{"content":"x"}' });
    const bodies = [await apps[0]!.fetch(post())];
    for (let reader = 0; reader < joined; reader++)
      bodies.push(await apps[0]!.fetch(new Request(ADDRESS, { headers })));
    const texts = bodies.map((body) => (how === "read" ? body.text() : ""));
    await vi.waitFor(() => expect(apps[0]!.stats().readers).toBe(1 + joined));
    const cancelled = await apps[cancelledOn]!.fetch(new Request(ADDRESS, { method: "DELETE", headers }));
    expect(cancelled.status).toBe(204);
    await Promise.all(texts);
    expect(apps[0]!.stats().readers).toBe(0);
    expect([aborted.length, isListening()]).toEqual([1, false]);
    expect((await apps[0]!.fetch(post())).status).toBe(409);
    await vi.waitFor(() => expect(stats()).toEqual(rest));
    // The log has forgotten it by now, and its server has not.
    expect((await apps[0]!.fetch(post())).status).toBe(409);
  },
);
