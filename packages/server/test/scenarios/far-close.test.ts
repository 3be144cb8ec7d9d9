import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { clusterOn, memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { listen } from "@parlance/server/node";
import { memoryLog } from "@parlance/server/resume";
import { expect, onTestFinished, test } from "vitest";
import { numbers } from "../cluster.js";

/** How a server's connection to pub/sub can be away. */
const AWAY = {
  "receives nothing, and does not know it": { counted: true, publishes: true },
  "receives nothing, which pub/sub counts": { counted: false, publishes: true },
  "receives nothing, and can send nothing": { counted: true, publishes: false },
} as const;

/** A connection to a pub/sub that a test takes away, and gives back. */
function connection(shared: PubSub, { counted, publishes }: (typeof AWAY)[keyof typeof AWAY]) {
  let away = false;
  const held = new Set<{ unsubscribe: () => void; back: () => Promise<void> }>();
  const pubSub: PubSub = {
    publish: (topic, text) =>
      away && !publishes ? Promise.reject(new Error("connection is closed")) : shared.publish(topic, text),
    async subscribe(topic, take, onInterrupted = () => {}) {
      const receive = (text: string): void => {
        if (!away) take(text);
      };
      const one = {
        unsubscribe: await shared.subscribe(topic, receive),
        async back() {
          if (!counted) one.unsubscribe = await shared.subscribe(topic, receive);
          onInterrupted();
        },
      };
      held.add(one);
      return () => {
        held.delete(one);
        one.unsubscribe();
      };
    },
  };
  return {
    pubSub,
    take(): void {
      away = true;
      if (!counted) for (const { unsubscribe } of held) unsubscribe();
    },
    give(): void {
      away = false;
      for (const { back } of held) void back();
    },
  };
}

test.each(
  Object.keys(AWAY).flatMap((how) =>
    ["the server with the handler", "the server with the socket"].map((whose) => ({ how, whose })),
  ),
)("a close arrives after all that was sent before it, where $whose $how meanwhile", async ({ how, whose }) => {
  const [shared, log] = [memoryPubSub(), memoryLog()];
  const pubSubs = [0, 1].map(() => connection(shared, AWAY[how as keyof typeof AWAY]));
  const heard: string[] = [];
  let ended = "not yet";
  const apps = pubSubs.map(({ pubSub }) =>
    serve(
      based,
      {
        async session(_, channel) {
          channel.send({ type: "initial_state", files: [], activeFile: null });
          try {
            for await (const message of channel) if (message.type === "upload_file") heard.push(message.filename);
            ended = "closed";
          } catch (error) {
            ended = `${error}`;
          }
        },
      },
      { cluster: clusterOn(pubSub), log, queryWithin: 100, storeWithin: 100, grace: 20_000, onError: false },
    ),
  );
  const servers = await Promise.all(apps.map((app) => listen(app, { port: 0 })));
  onTestFinished(() => Promise.all(servers.map((server) => server.close())).then(() => {}));
  // The first server answers requests, and the second one has the sockets.
  const at = (url: string, server: number): string => {
    const { host } = new URL(servers[server]!.url);
    return Object.assign(new URL(url), { host }).href;
  };
  const client = connect(based, {
    baseUrl: servers[0]!.url,
    // The longest waits between attempts.
    random: () => 1,
    fetch: (request) => fetch(new Request(at(request.url, 0), request)),
    webSocket: (url, init) => webSocket(at(url, 1), init),
  });
  const session = await client.session();
  const upload = (filename: string) => session.send({ type: "upload_file", filename, content: "" });
  await upload("1");
  await expect.poll(() => heard).toEqual(["1"]);
  const away = pubSubs[whose === "the server with the handler" ? 0 : 1]!;
  away.take();
  for (const name of numbers(2, 10)) void upload(name);
  void session.close();
  // Longer than an answer is waited for.
  setTimeout(away.give, 150);
  await session.closed;
  await expect.poll(() => heard).toEqual(numbers(1, 10));
  await expect.poll(() => ended).toBe("closed");
});
