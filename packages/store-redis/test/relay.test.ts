import { memoryLog } from "@parlance/server";
import { redisLog, redisRelay } from "@parlance/store-redis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { agentOn, call, numbers, say, testCluster, tracked } from "../../server/test/cluster.js";
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

  test("when Redis is killed and started again, readers get what was said meanwhile, and what comes", async () => {
    const relays = [redisRelay({ redis: server.client() }), redisRelay({ redis: server.client() })] as const;
    const [a, b] = relays.map((relay) => agentOn(relay, memoryLog())) as [Agent, Agent];
    const session_id = "restarted";
    const session = await a.session(session_id);
    const reader = await b.reader(session_id);
    const speak = (words: readonly string[]) => words.forEach((word) => void session.send(say(word)));
    speak(numbers(1, 50));
    expect(await reader.take(50)).toEqual(numbers(1, 50));
    await server.kill();
    speak(numbers(51, 100));
    const asked = session.ask(call("t1"));
    await server.start();
    speak(numbers(101, 150));
    const heard = await reader.take(101);
    expect(heard.filter((word) => word !== "t1")).toEqual(numbers(51, 150));
    expect(heard).toContain("t1");
    // A server that has just come back hears the others a moment later: until then nobody knows of the ask.
    await vi.waitFor(() => b.client.approve({ session_id, tool_call_id: "t1" }), { timeout: 10_000 });
    expect((await asked).type).toBe("approve");
    reader.leave();
    for (const relay of relays) relay.stop();
  });
});

type Agent = ReturnType<typeof agentOn>;
