import { type ConnectOptions, connect, Disconnected } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { clusterOn, memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { listen } from "@parlance/server/node";
import { expect, onTestFinished, test, vi } from "vitest";

/** Pub/sub whose subscriptions a test interrupts for longer than any server remembers. */
function interruptible(): PubSub & { interrupt(): number } {
  const inner = memoryPubSub();
  const interrupted = new Set<(missing?: number) => void>();
  return {
    publish: inner.publish,
    subscribe(topic, receive, onInterrupted) {
      if (topic.includes("/session/") && onInterrupted) interrupted.add(onInterrupted);
      return inner.subscribe(topic, receive);
    },
    interrupt() {
      for (const notify of interrupted) notify(3_600_000);
      return interrupted.size;
    },
  };
}

const ways: { name: string; options: ConnectOptions; code: string }[] = [
  { name: "that resumes", options: {}, code: "gap" },
  { name: "without resume", options: { resume: false }, code: "closed" },
];

test.each(ways)(
  "it ends a channel $name with an error when its session has lost messages",
  async ({ options, code }) => {
    const pubSub = interruptible();
    const ended: unknown[] = [];
    const handlers = {
      async stream(_, channel, { signal }) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        try {
          for await (const _ of channel);
        } catch (error) {
          ended.push((error as Disconnected).code, signal.aborted);
        }
      },
    } as Partial<LoCoHandlers> as LoCoHandlers;
    const app = serve(loco, handlers, { cluster: clusterOn(pubSub), allowAnonymous: true, partial: true });
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const client = connect(loco, { baseUrl: `http://localhost:${server.port}`, webSocket, ...options });
    const open = { client_info: { name: "test", version: "1", capabilities: [] } };
    const channel = await client.stream({ session_id: "s" }, { open });
    await vi.waitFor(() => expect(pubSub.interrupt()).toBeGreaterThan(0));
    const read = (async () => {
      for await (const _ of channel);
    })();
    await expect(read).rejects.toBeInstanceOf(Disconnected);
    await expect(read).rejects.toMatchObject({ code });
    expect(ended).toEqual(["gap", true]);
  },
);
