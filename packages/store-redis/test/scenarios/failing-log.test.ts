import { redisLog, redisPubSub } from "@parlance/store-redis";
import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { failingAsks } from "../../../server/test/resume/failing-asks.js";
import { failingLog } from "../../../server/test/resume/failing-log.js";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";

describe.runIf(hasRedis)("on Redis,", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.remove());

  const storesOf = (servers: number) =>
    Array.from({ length: servers }, () => {
      const redis = server.client();
      const store = { log: redisLog({ redis }), pubSub: redisPubSub({ redis }) };
      onTestFinished(() => {
        store.log.stop();
        store.pubSub.stop();
      });
      return store;
    });
  failingLog(storesOf);
  failingAsks(storesOf);
});
