import { testEventLog } from "@parlance/server/resume";
import { afterAll, beforeAll, describe, test } from "vitest";
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
  });
  afterAll(() => cluster.remove());

  testEventLog(async () => {
    const make = () => made.log({ redis: cluster.client() });
    return { log: make(), other: make(), stop };
  }, test);
});
