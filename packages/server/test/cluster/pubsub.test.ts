import { memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { Scope } from "@parlance/wire/scope";
import { describe, expect, onTestFinished, test } from "vitest";
import { Outbox } from "../../src/cluster/outbox.js";
import { LIMITS } from "../../src/limits.js";
import { agentOn, call, testCluster, tracked } from "../cluster.js";

describe("two apps of one process, joined by memoryPubSub", () => {
  testCluster(async () => {
    const pubSub = memoryPubSub();
    const log = memoryLog();
    return { pubSubs: [tracked(pubSub), tracked(pubSub)], logs: [log, log], stop() {} };
  });
});

test("a late decision is refused, also after the last reader has left, and on another server", async () => {
  const pubSub = memoryPubSub();
  const [a, b] = [agentOn(pubSub, memoryLog()), agentOn(pubSub, memoryLog())];
  const session_id = "s";
  const session = await a.session(session_id);
  const reader = await a.reader(session_id);
  const asked = session.ask(call("t1"));
  await reader.take(1);
  await a.client.approve({ session_id, tool_call_id: "t1" });
  await asked;
  reader.detach();
  await reader.end();
  for (const { client } of [a, b])
    await expect(client.reject({ session_id, tool_call_id: "t1" })).rejects.toMatchObject({ status: 409 });
});

test("a server that closes leaves every topic", async () => {
  const pubSub = memoryPubSub();
  let topics = 0;
  const counting: PubSub = {
    publish: pubSub.publish,
    async subscribe(topic, hear, onMissed) {
      const unsubscribe = await pubSub.subscribe(topic, hear, onMissed);
      topics++;
      return () => {
        topics--;
        unsubscribe();
      };
    },
  };
  const { app, session, reader } = agentOn(counting, memoryLog());
  (await session("s")).ask(call("t1")).catch(() => {});
  await (await reader("s")).take(1);
  expect(topics).toBeGreaterThan(2);
  app.close();
  for (let tick = 0; tick < 20; tick++) await Promise.resolve();
  expect(topics).toBe(0);
});

test("an approval that comes while a pubSub is on its way back waits for the server that asks", async () => {
  const pubSub = memoryPubSub();
  const inboxes: (() => void)[] = [];
  /** A pubSub whose connection breaks: B is back first, A a moment later. */
  const breakable = (returns: (() => void)[]): PubSub & { broken: boolean } => ({
    broken: false,
    publish: pubSub.publish,
    subscribe(topic, hear, onMissed) {
      if (onMissed) returns.push(onMissed);
      return pubSub.subscribe(topic, (text) => !this.broken && hear(text), onMissed);
    },
  });
  const ofA = breakable([]);
  const [a, b] = [agentOn(ofA, memoryLog()), agentOn(breakable(inboxes), memoryLog())];
  const session_id = "s";
  const session = await a.session(session_id);
  const reader = await b.reader(session_id);
  const asked = session.ask(call("t1"));
  await reader.take(1);
  ofA.broken = true;
  for (const back of inboxes) back();
  const approved = b.client.approve({ session_id, tool_call_id: "t1" });
  // B has asked in vain before A hears again.
  await new Promise((resolve) => setTimeout(resolve, 0));
  ofA.broken = false;
  await approved;
  expect((await asked).type).toBe("approve");
  reader.detach();
});

test("what a pubSub does not take is kept up to a limit, and then the far reader is given up", () => {
  const scope = Scope.open(() => {});
  onTestFinished(() => scope.close());
  let count = 0;
  let lostAfter = 0;
  const outbox = new Outbox({
    scope,
    limits: { ...LIMITS, maxQueued: 500, maxBuffered: 1000 },
    publish: () => new Promise(() => {}),
    onLost() {
      lostAfter = count;
      scope.close();
    },
  });
  const sent = (waited: boolean) =>
    outbox.send({ message: { type: "text" }, place: ++count, weight: 100, had() {} }, waited);
  // What waited before the reader came does not count against it.
  for (let i = 0; i < 20; i++) sent(true);
  for (let i = 0; i < 1000; i++) sent(false);
  expect(lostAfter).toBe(20 + 10 + 1);
});
