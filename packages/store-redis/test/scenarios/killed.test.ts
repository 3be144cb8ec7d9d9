import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { run } from "../../../server/test/resume/child.js";
import { proxy } from "../../../server/test/resume/proxy.js";
import { HASTY, runConversation, texts } from "../../../server/test/resume/run-conversation.js";
import { hasRedis, type RedisServer, startRedis } from "../redis.js";

describe.runIf(hasRedis)("a server with its streams in Redis is killed and started again:", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.remove());

  test("cut readers get everything that it had sent, and only a handler that was still at work is lost", async () => {
    const script = new URL("../serving.ts", import.meta.url);
    const first = run(script, redis.path);
    let port = Number(await first.line());
    let back = false;
    // Every first connection is cut after some messages, and no connection succeeds until the server is back.
    const between = await proxy(
      () => port,
      (connection) => (back ? undefined : { kind: "cut", at: connection < 4 ? 700 : 0, of: "server", milliseconds: 0 }),
    );
    const connection = { ...HASTY, baseUrl: between.url, random: () => 0.05 };
    const talking = (["post", "get"] as const).flatMap((carrier) =>
      ["40", "40-30"].map((rest) => {
        const tag = `${carrier}${rest.length}-${rest}`;
        const got: string[] = [];
        const ended = runConversation[carrier](connection, tag, texts(tag), got).then(
          () => undefined,
          (error: unknown) => error,
        );
        return { tag, got, ended };
      }),
    );
    const client = redis.client();
    const written = async () => {
      const streams = await client.keys("*:entries");
      return (await Promise.all(streams.map((stream) => client.xlen(stream)))).sort();
    };
    await vi.waitFor(async () => expect(await written()).toEqual([30, 30, 41, 41]), 60_000);
    for (const { got } of talking) expect(got.length).toBeLessThan(20);
    await first.kill();
    const second = run(script, redis.path);
    port = Number(await second.line());
    back = true;
    for (const { tag, got, ended } of talking) {
      const error = await ended;
      const pause = tag.split("-")[2];
      expect(got, tag).toEqual(texts(tag).slice(0, pause ? 30 : 40));
      // The messages are kept, not the work: its end is not made up.
      if (pause) expect(error, tag).toMatchObject({ name: "Disconnected", code: "ended_early" });
      else expect(error, tag).toBeUndefined();
    }
    await between.close();
  }, 180_000);
});
