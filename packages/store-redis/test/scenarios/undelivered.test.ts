import { clusterOn } from "@parlance/server/cluster";
import { redisLog, redisPubSub } from "@parlance/store-redis";
import { describe, it, onTestFinished } from "vitest";
import { expectEverything, type ReaderOf } from "../../../server/test/resume/undelivered.js";
import { hasRedis, startRedis } from "../redis.js";

const readings: Readonly<Record<string, readonly ReaderOf[]>> = {
  "a slow reader": [{ speed: "slow", server: 0 }],
  "a fast and a slow reader": [
    { speed: "fast", server: 0 },
    { speed: "slow", server: 0 },
  ],
  "a fast reader here and a slow one on another server": [
    { speed: "fast", server: 0 },
    { speed: "slow", server: 1 },
  ],
};
const streams: Readonly<Record<string, readonly number[]>> = {
  "a message that a tail does not hold": [1.5 * 1024 * 1024],
  "many more entries than Redis keeps": Array.from({ length: 3000 }, () => 100),
};

describe.skipIf(!hasRedis).each(Object.entries(streams))("a stream of %s", (_, sizes) => {
  it.each(Object.entries(readings))("reaches %s whole", async (_, readers) => {
    const server = await startRedis();
    const stops: (() => void)[] = [];
    onTestFinished(async () => {
      for (const stop of stops) stop();
      await server.remove();
    });
    const store = () => {
      const redis = server.client();
      const [log, pubSub] = [redisLog({ redis, maxLength: 100 }), redisPubSub({ redis })];
      stops.push(log.stop, pubSub.stop);
      return { log, pubSub };
    };
    const [here, there] = [store(), store()];
    await expectEverything(sizes, readers, [here.log, there.log], { cluster: clusterOn(here.pubSub) });
  });
});
