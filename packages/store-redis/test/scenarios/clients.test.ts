import { type RedisClient, redisLog, redisPubSub } from "@parlance/store-redis";
import * as ioredis6 from "ioredis";
import * as ioredis5 from "ioredis5";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";
import { type RedisClusterServer, startCluster } from "../redis-cluster.js";

/** Options that may change what the client answers, or when, and that work. */
const accepted = {
  "no options": {},
  enableAutoPipelining: { enableAutoPipelining: true },
  "enableOfflineQueue: false": { enableOfflineQueue: false },
  lazyConnect: { lazyConnect: true },
  keyPrefix: { keyPrefix: "mine:" },
  commandTimeout: { commandTimeout: 2000 },
  "maxRetriesPerRequest: null": { maxRetriesPerRequest: null },
  "no ready check": { enableReadyCheck: false },
  showFriendlyErrorStack: { showFriendlyErrorStack: true },
  "protocol: 3": { protocol: 3 },
  "replyMapping: legacy": { replyMapping: "legacy" },
} as const;

/** Options with which answers are not what this package reads. */
const refused = {
  stringNumbers: [{ stringNumbers: true }, "`redis` turns numbers into texts (option stringNumbers)"],
  monitor: [{ monitor: true }, "`redis` only monitors (option monitor)"],
} as const;

const versions = {
  5: (path: string, options: object): RedisClient => silenced(new ioredis5.Redis(path, options)),
  6: (path: string, options: object): RedisClient => silenced(new ioredis6.Redis(path, options)),
};
const clients: { disconnect(): void }[] = [];

function silenced<Client extends { on(event: "error", listener: () => void): unknown; disconnect(): void }>(
  client: Client,
): Client {
  client.on("error", () => {});
  clients.push(client);
  return client;
}

/** Appends, reads, follows and publishes. */
async function expectAnswers(redis: RedisClient, stream: string): Promise<void> {
  const [log, pubSub] = [redisLog({ redis }), redisPubSub({ redis })];
  onTestFinished(() => {
    log.stop();
    pubSub.stop();
  });
  const writer = (await log.open(stream))!;
  expect(await log.open(stream)).toBeUndefined();
  const tail = log.tail(stream, 0, new AbortController().signal)[Symbol.asyncIterator]();
  await writer.append(1, "one");
  expect((await tail.next()).value).toEqual([{ seq: 1, text: "one" }]);
  const next = tail.next();
  await writer.append(2, "two");
  expect((await next).value).toEqual([{ seq: 2, text: "two" }]);
  expect(await log.state(stream)).toMatchObject({ first: 1, last: 2, closed: false });
  await writer.trim(1);
  await writer.close();
  expect(await log.state(stream)).toMatchObject({ first: 2, last: 2, closed: true });
  expect(await tail.next()).toMatchObject({ done: true });
  await writer.drop();
  let receive = (_: string): void => {};
  const received = new Promise<string>((resolve) => {
    receive = resolve;
  });
  await pubSub.subscribe(stream, receive);
  expect(await pubSub.publish(stream, "hello")).toBe(1);
  expect(await received).toBe("hello");
}

describe.skipIf(!hasRedis).each(Object.entries(versions))("ioredis %s", (version, connect) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await server.remove();
  });

  it.each(Object.entries(accepted))("works with %s", async (name, options) => {
    await expectAnswers(connect(server.path, options), `${version} ${name}`);
  });

  it.each(Object.entries(refused))("is refused at the start with %s", (_, [options, message]) => {
    const redis = connect(server.path, { ...options, lazyConnect: true });
    for (const make of [redisLog, redisPubSub]) expect(() => make({ redis })).toThrow(message);
  });
});

describe.skipIf(!hasRedis)("a Cluster of ioredis", () => {
  let cluster: RedisClusterServer;
  beforeAll(async () => {
    cluster = await startCluster(0);
  }, 60_000);
  afterAll(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await cluster.remove();
  });

  it.each(Object.entries({ 5: ioredis5.Cluster, 6: ioredis6.Cluster }))(
    "works in version %s",
    async (version, Cluster) => {
      for (const options of [{}, { enableAutoPipelining: true }])
        await expectAnswers(
          silenced(new Cluster([cluster.url], options)),
          `cluster ${version} ${JSON.stringify(options)}`,
        );
    },
  );

  it("is refused at the start with options that change its answers", () => {
    const make = (options: object) => silenced(new ioredis6.Cluster([cluster.url], { lazyConnect: true, ...options }));
    expect(() => redisLog({ redis: make({ redisOptions: { stringNumbers: true } }) })).toThrow("stringNumbers");
    expect(() => redisPubSub({ redis: make({ keyPrefix: "mine:" }) })).toThrow("keyPrefix");
    expect(() => redisLog({ redis: make({ keyPrefix: "mine:" }) })).not.toThrow();
  });
});
