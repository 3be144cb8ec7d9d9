import { memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { expect, test, vi } from "vitest";
import { agentOn, numbers, say } from "../cluster.js";
import { random } from "../resume/random.js";

/** Delivers each packet in a later turn, some twice, and loses the first of a kind. */
function unreliable(loses: string | undefined): PubSub {
  const inner = memoryPubSub();
  let count = 0;
  let lost = loses === undefined;
  return {
    subscribe: (topic, hear, onMissed) => inner.subscribe(topic, hear, onMissed),
    async publish(topic, text) {
      if (!lost && text.includes(loses!)) {
        lost = true;
        return 1;
      }
      await new Promise(setImmediate);
      if (++count % 3 === 0) await inner.publish(topic, text);
      return inner.publish(topic, text);
    },
  };
}

const ways = [
  { sentOn: 0, endedOn: 0, readOn: 1 },
  { sentOn: 0, endedOn: 1, readOn: 1 },
  { sentOn: 0, endedOn: 2, readOn: 1 },
] as const;

test.each(
  ways.flatMap((way) =>
    [undefined, '"type":"messages"', '"last":true', '"type":"left"', '"type":"received"'].map((loses) => ({
      ...way,
      loses,
    })),
  ),
)("a reader on another server gets all that was sent before the session ended, then the end: %o", async (way) => {
  const [pubSub, log] = [unreliable(way.loses), memoryLog()];
  const limits = { queryWithin: 50, interruptedFor: 5000 };
  const servers = [0, 1, 2].map(() => agentOn(pubSub, log, limits));
  const sender = await servers[way.sentOn]!.session("s");
  const reader = await servers[way.readOn]!.reader("s");
  sender.send(say("1"));
  expect(await reader.take(1)).toEqual(["1"]);
  for (const word of numbers(2, 3000)) sender.send(say(word));
  await servers[way.endedOn]!.client.endSession({ session_id: "s" });
  expect(await reader.take(2999)).toEqual(numbers(2, 3000));
  await reader.end();
  await vi.waitFor(() =>
    expect(servers.map(({ app }) => app.stats())).toEqual(
      servers.map(() => expect.objectContaining({ readers: 0, streams: 0, queued: 0 })),
    ),
  );
  for (const { app } of servers) app.close();
});

/** Delivers each subscription's packets in order, each after a time of its own. */
function late(below: number): PubSub {
  const inner = memoryPubSub();
  const next = random(7);
  return {
    publish: (topic, text) => inner.publish(topic, text),
    subscribe(topic, hear, onMissed) {
      let coming = Promise.resolve();
      const later = (text: string): void => {
        coming = coming
          .then(() => new Promise((resolve) => setTimeout(resolve, next() * below)))
          .then(() => hear(text));
      };
      return inner.subscribe(topic, later, onMissed);
    },
  };
}

test.each([
  { milliseconds: 2, endedOn: 0 },
  { milliseconds: 20, endedOn: 0 },
  { milliseconds: 20, endedOn: 1 },
  { milliseconds: 50, endedOn: 2 },
])(
  "a reader that the senders had not met yet gets everything too, then the end: %o",
  async ({ milliseconds, endedOn }) => {
    const [pubSub, log] = [late(milliseconds), memoryLog()];
    const servers = [0, 1, 2].map(() => agentOn(pubSub, log));
    const sessions = ["s0", "s1", "s2", "s3"];
    await Promise.all(
      sessions.map(async (key) => {
        const reader = await servers[1]!.reader(key);
        const senders = await Promise.all(servers.map((server) => server.session(key)));
        for (const [at, sender] of senders.entries())
          for (const word of numbers(1, 20)) sender.send(say(`${at} ${word}`));
        await servers[endedOn]!.client.endSession({ session_id: key });
        const got = await reader.take(60);
        const ofEach = servers.map((_, at) => got.filter((word) => word.startsWith(`${at} `)));
        expect(ofEach).toEqual(servers.map((_, at) => numbers(1, 20).map((word) => `${at} ${word}`)));
        expect(["done", "ended_early"]).toContain(await reader.end());
      }),
    );
    const rest = { readers: 0, streams: 0, sessions: 0, queued: 0 };
    await vi.waitFor(
      () => expect(servers.map(({ app }) => app.stats())).toEqual(servers.map(() => expect.objectContaining(rest))),
      { timeout: 10_000 },
    );
    for (const { app } of servers) app.close();
  },
);

test("a reader ends with an error where the server that owes it messages is gone", async () => {
  const [pubSub, log] = [memoryPubSub(), memoryLog()];
  const cut: (() => void)[] = [];
  const leaving: PubSub = {
    publish: (topic, text) => pubSub.publish(topic, text),
    async subscribe(topic, hear, onMissed) {
      const unsubscribe = await pubSub.subscribe(topic, hear, onMissed);
      cut.push(unsubscribe);
      return unsubscribe;
    },
  };
  const [gone, left] = [agentOn(leaving, log), agentOn(pubSub, log, { interruptedFor: 100, onError: false })];
  const sender = await gone.session("s");
  const reader = await left.reader("s");
  sender.send(say("1"));
  expect(await reader.take(1)).toEqual(["1"]);
  for (const unsubscribe of cut) unsubscribe();
  await left.client.endSession({ session_id: "s" });
  expect(await reader.take(1)).toEqual(["error"]);
  for (const { app } of [gone, left]) app.close();
});

test("an end counts once, however often the server that said it introduces itself", async () => {
  const [pubSub, log] = [memoryPubSub(), memoryLog()];
  const [a, b] = [agentOn(pubSub, log), agentOn(pubSub, log)];
  for (let round = 0; round < 3; round++) {
    const before = await b.reader("s");
    await a.client.endSession({ session_id: "s" });
    await before.end();
    const next = await b.reader("s");
    // Its own reader has it say what it knows, the end too.
    const own = await a.reader("s");
    (await a.session("s")).send(say(`${round}`));
    expect([await next.take(1), await own.take(1)]).toEqual([[`${round}`], [`${round}`]]);
    next.detach();
    own.detach();
  }
  for (const { app } of [a, b]) app.close();
});
