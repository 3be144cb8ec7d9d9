import { type ConnectOptions, connect } from "@parlance/client";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { clusterOn, memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { formatTicket, newKey, type Port } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { expect, onTestFinished, test, vi } from "vitest";
import { wiring } from "../../src/cluster/publish.js";
import { LIMITS } from "../../src/limits.js";
import { lastCalls } from "../../src/shutdown.js";
import { connection } from "../connection.js";

test("an outage of pub/sub is one report, and the next outage is another", async () => {
  const scope = Scope.open(() => {});
  onTestFinished(() => scope.close());
  let down = false;
  const pubSub: PubSub = {
    ...memoryPubSub(),
    publish: async () => {
      if (down) throw new Error("down");
      return 1;
    },
  };
  const reports: string[] = [];
  const report = (error: unknown, source: string) => void reports.push(`${source}: ${error}`);
  const { publish } = wiring(pubSub, LIMITS, scope, report, lastCalls());
  for (const isDown of [true, true, true, false, true, true, false]) {
    down = isDown;
    const published = publish("topic", {});
    if (isDown)
      await expect(published).rejects.toMatchObject({
        code: "unreachable",
        retryable: true,
        cause: { message: "down" },
      });
    else expect(await published).toBe(1);
  }
  expect(reports).toEqual(["pub/sub: Error: down", "pub/sub: Error: down"]);
});

/** Servers of a channel that share a pub/sub, each text of which takes a turn of the loop; the types of what was published of channels. */
function servers(count: number) {
  const topics = new Map<string, Set<(text: string) => void>>();
  const published: string[] = [];
  const pubSub: PubSub = {
    async subscribe(topic, receive) {
      const receivers = topics.get(topic) ?? new Set();
      topics.set(topic, receivers.add(receive));
      return () => void receivers.delete(receive);
    },
    async publish(topic, text) {
      if (topic.includes("/channels")) published.push((JSON.parse(text) as { readonly type: string }).type);
      const receivers = [...(topics.get(topic) ?? [])];
      setImmediate(() => {
        for (const receive of receivers) receive(text);
      });
      return receivers.length;
    },
  };
  const log = memoryLog();
  const session: BasedHandlers["session"] = async (_, channel) => {
    channel.send({ type: "initial_state", files: [], activeFile: null });
    for await (const _ of channel);
  };
  const apps = Array.from({ length: count }, () =>
    serve(based, { session }, { cluster: clusterOn(pubSub), log, onError: false }),
  );
  return { apps, published };
}

const converse = async (options: ConnectOptions) => {
  const session = await connect(based, options).session();
  for await (const message of session) {
    expect(message.type).toBe("initial_state");
    break;
  }
  await session.close();
};

test.each([2, 3, 4])("a ticket is good on a server that has not met its maker yet (%i servers)", async (count) => {
  const { apps } = servers(count);
  const [maker] = apps;
  // Each server is known to the others from its first channel on, and only to those that have had one.
  for (const app of [...apps].reverse()) await converse(app);
  const refused: unknown[] = [];
  for (const other of apps.slice(1))
    await converse({
      fetch: maker!.fetch,
      async webSocket(url, init) {
        const port = await other.webSocket(url, init);
        if ("refused" in port) refused.push(port.refused);
        return port;
      },
    });
  expect(refused).toEqual([]);
});

test("after an interruption of pub/sub a ticket of a server that hears nothing for a moment is good, once it does", async () => {
  const shared = memoryPubSub();
  const interrupted: (() => void)[] = [];
  let deaf = false;
  const pubSub: PubSub = {
    publish: shared.publish,
    subscribe(topic, receive, onInterrupted = () => {}) {
      interrupted.push(onInterrupted);
      return shared.subscribe(topic, (text) => {
        if (!deaf) receive(text);
      });
    },
  };
  const [log, limits] = [memoryLog(), { queryWithin: 20, onError: false } as const];
  const session: BasedHandlers["session"] = async (_, channel) => {
    channel.send({ type: "initial_state", files: [], activeFile: null });
    for await (const _ of channel);
  };
  const [maker, other] = [0, 1].map(() => serve(based, { session }, { cluster: clusterOn(pubSub), log, ...limits }));
  await converse(maker!);
  await converse(other!);
  for (const back of interrupted) back();
  await converse({
    fetch: maker!.fetch,
    async webSocket(url, init) {
      deaf = true;
      setTimeout(() => {
        deaf = false;
      }, 100);
      const port = await other!.webSocket(url, init);
      expect(port).not.toHaveProperty("refused");
      return port;
    },
  });
});

test.each([
  { away: 100, channel: "goes on" },
  { away: 10_000, channel: "ends in a gap" },
])("a channel that is asked for elsewhere while its server's pub/sub is away for $away ms $channel", async (one) => {
  const [shared, log] = [memoryPubSub(), memoryLog()];
  const made = [0, 1].map(() => connection(shared, 0));
  const session: BasedHandlers["session"] = async (_, channel) => {
    channel.send({ type: "initial_state", files: [], activeFile: null });
    for await (const message of channel)
      if (message.type === "upload_file")
        channel.send({ type: "file_uploaded", filename: message.filename, files: [] });
  };
  const limits = { queryWithin: 50, storeWithin: 50, interruptedFor: 500, onError: false } as const;
  const apps = made.map(({ pubSub }) => serve(based, { session }, { cluster: clusterOn(pubSub), log, ...limits }));
  onTestFinished(() => {
    for (const app of apps) app.close();
  });
  let app = apps[0]!;
  const sockets: Port[] = [];
  const channel = await connect(based, {
    random: () => 0,
    fetch: (request) => app.fetch(request),
    async webSocket(url, init) {
      const port = await app.webSocket(url, init);
      if (!("refused" in port)) sockets.push(port);
      return port;
    },
  }).session();
  const upload = (filename: string) => channel.ask({ type: "upload_file", filename, content: "" });
  await upload("1");
  app = apps[1]!;
  made[0]!.cut(one.away);
  sockets[0]!.close(1006, "");
  if (one.channel === "goes on") expect(await upload("2")).toMatchObject({ filename: "2" });
  else await expect(upload("2")).rejects.toMatchObject({ code: "gap" });
});

test("guessed tickets make a server ask the others for their names once a second, and nothing else", async () => {
  const { apps, published } = servers(2);
  for (const app of apps) await converse(app);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const guess = async () => {
    const answer = await apps[0]!.webSocket("ws://localhost/ws", {
      headers: {},
      maxSize: 1000,
      protocols: [formatTicket(newKey() + newKey().slice(0, 12))],
    });
    expect(answer).toMatchObject({ refused: { status: 426 } });
  };
  const asked = async (wait: number) => {
    published.length = 0;
    await vi.advanceTimersByTimeAsync(wait);
    for (let i = 0; i < 5; i++) await guess();
    return published;
  };
  expect(await asked(0)).toEqual(["hello", "hello"]);
  expect(await asked(999)).toEqual([]);
  expect(await asked(1)).toEqual(["hello", "hello"]);
});
