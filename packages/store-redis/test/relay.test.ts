import { redisLog, redisRelay } from "@parlance/store-redis";
import { afterAll, beforeAll, describe } from "vitest";
import { testCluster, tracked } from "../../server/test/cluster.js";
import { hasRedis, type RedisServer, startRedis } from "./redis.js";

describe.runIf(hasRedis)("two apps, joined by redisRelay and redisLog", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.remove());

  testCluster(async () => {
    const relays = [redisRelay({ redis: server.client() }), redisRelay({ redis: server.client() })] as const;
    const logs = [redisLog({ redis: server.client() }), redisLog({ redis: server.client() })] as const;
    return {
      relays: [tracked(relays[0]), tracked(relays[1])],
      logs,
      stop: () => [...relays, ...logs].forEach((one) => void one.stop()),
    };
  });
});
