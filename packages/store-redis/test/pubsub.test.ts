import { memoryLog } from "@parlance/server/resume";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { agentOn, call, numbers, say, testCluster, tracked } from "../../server/test/cluster.js";
import { atRest } from "./at-rest.js";
import { hasRedis, type RedisServer, startRedis } from "./redis.js";
import { type RedisClusterServer, startCluster } from "./redis-cluster.js";

const stop = () => {};

describe.runIf(hasRedis)("two apps, joined by redisPubSub and redisLog on one Redis", () => {
  const made = atRest();
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.remove());

  testCluster(async () => {
    const pubSub = () => tracked(made.pubSub({ redis: server.client() }));
    const log = () => made.log({ redis: server.client() });
    return { pubSubs: [pubSub(), pubSub()], logs: [log(), log()], stop };
  });

  test("when Redis is killed and started again, readers get the messages sent meanwhile, and later ones", async () => {
    const pubSubs = [made.pubSub({ redis: server.client() }), made.pubSub({ redis: server.client() })] as const;
    const [a, b] = pubSubs.map((pubSub) => agentOn(pubSub, memoryLog())) as [Agent, Agent];
    const session_id = "restarted";
    const session = await a.session(session_id);
    const reader = await b.reader(session_id);
    const send = (words: readonly string[]) => words.forEach((word) => void session.send(say(word)));
    send(numbers(1, 50));
    expect(await reader.take(50)).toEqual(numbers(1, 50));
    await server.kill();
    send(numbers(51, 100));
    const asked = session.ask(call("t1"));
    await server.start();
    send(numbers(101, 150));
    const received = await reader.take(101);
    expect(received.filter((word) => word !== "t1")).toEqual(numbers(51, 150));
    expect(received).toContain("t1");
    // A server that has just come back receives from the others a moment later. Until then the ask is unknown to it.
    await vi.waitFor(() => b.client.approve({ session_id, tool_call_id: "t1" }), { timeout: 10_000 });
    expect((await asked).type).toBe("approve");
    reader.detach();
    for (const { app } of [a, b]) app.close();
  });

  test("when Redis is back, a subscription says for how long texts may be missing: since its last sign of life", async () => {
    const pubSub = made.pubSub({ redis: server.client() });
    const told: (number | undefined)[] = [];
    const began = performance.now();
    await pubSub.subscribe(
      "topic",
      () => {},
      (missing) => void told.push(missing),
    );
    const subscribed = performance.now();
    await server.kill();
    const killed = performance.now();
    await server.start();
    const [missing] = await vi.waitUntil(() => told.length > 0 && told, { timeout: 10_000 });
    expect(missing).toBeGreaterThan(killed - subscribed);
    expect(missing).toBeLessThan(performance.now() - began);
  });
});

describe.runIf(hasRedis)("two apps, joined by redisPubSub and redisLog on a Redis Cluster of three nodes", () => {
  const made = atRest();
  let cluster: RedisClusterServer;
  beforeAll(async () => {
    cluster = await startCluster(0);
  }, 60_000);
  afterAll(() => cluster.remove());

  testCluster(async () => {
    const pubSub = () => tracked(made.pubSub({ redis: cluster.client() }));
    const log = () => made.log({ redis: cluster.client() });
    return { pubSubs: [pubSub(), pubSub()], logs: [log(), log()], stop };
  });

  test("publish resolves to the number of subscribers on all nodes, for every topic", async () => {
    const pubSubs = Array.from({ length: 3 }, () => made.pubSub({ redis: cluster.client() }));
    const topics = numbers(1, 60);
    const received: string[] = [];
    for (const topic of topics) expect(await pubSubs[0]!.publish(topic, "none")).toBe(0);
    for (const [i, topic] of topics.entries())
      for (const [j, pubSub] of pubSubs.slice(0, i % 4).entries())
        await pubSub.subscribe(topic, (text) => received.push(`${topic} ${j} ${text}`));
    const reached = await Promise.all(topics.map((topic) => pubSubs[2]!.publish(topic, "all")));
    expect(reached).toEqual(topics.map((_, i) => i % 4));
    const expected = topics.flatMap((topic, i) => numbers(0, (i % 4) - 1).map((j) => `${topic} ${j} all`));
    await vi.waitFor(() => expect([...received].sort()).toEqual(expected.sort()));
    expect(pubSubs[0]!.stats().connections).toBe(3);
  });
});

type Agent = ReturnType<typeof agentOn>;
