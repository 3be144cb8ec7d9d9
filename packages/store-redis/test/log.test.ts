import { type EventWriter, testEventLog } from "@parlance/server/resume";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { atRest } from "./at-rest.js";
import { hasRedis, type RedisServer, startRedis } from "./redis.js";
import { type RedisClusterServer, startCluster } from "./redis-cluster.js";

const stop = () => {};

describe.runIf(hasRedis)("redisLog on one Redis", () => {
  const made = atRest();
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.remove());

  testEventLog(async () => {
    const make = () => made.log({ redis: server.client() });
    return { log: make(), other: make(), stop };
  }, test);
});

describe.runIf(hasRedis)("redisLog on a Redis Cluster of three nodes", () => {
  const made = atRest();
  let cluster: RedisClusterServer;
  beforeAll(async () => {
    cluster = await startCluster(0);
  }, 60_000);
  afterAll(() => cluster.remove());

  testEventLog(async () => {
    const make = () => made.log({ redis: cluster.client() });
    return { log: make(), other: make(), stop };
  }, test);

  test("a stream of any name has its keys on one node, and names that differ do not meet", async () => {
    const log = made.log({ redis: cluster.client() });
    const names = ["", "}", "}}", "{", "{}", "{a}", "a}b", "%", "%7D", "%25", "}%7D", "a b\n", "é🙂"];
    const writers = new Map<string, EventWriter>();
    for (const name of names) {
      const writer = (await log.open(name))!;
      await writer.append(1, name);
      writers.set(name, writer);
    }
    for (const [name, writer] of writers) {
      expect(await log.read(name, 0), name).toEqual([{ seq: 1, text: name }]);
      await writer.close();
      await writer.drop();
    }
  });
});
