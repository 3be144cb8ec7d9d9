import { testEventLog } from "@parlance/server/testing";
import { redisLog } from "@parlance/store-redis";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "./redis.js";

describe.runIf(hasRedis)("redisLog", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.remove());

  testEventLog(async () => {
    const logs = [redisLog({ redis: server.client() }), redisLog({ redis: server.client() })] as const;
    return { log: logs[0], other: logs[1], stop: () => logs.forEach((log) => void log.stop()) };
  }, test);
});
