import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { agentOn, call, numbers, say, statusOf } from "../cluster.js";
import { connection } from "../connection.js";

const ROLES = ["reader", "sender", "third"] as const;
const MOMENTS = ["reading", "sending", "sending more", "ending", "ended"] as const;
type Moment = (typeof MOMENTS)[number];

/** A kind of message, and who ends the session. Beside them runs one case a moment of the cut, or one a latency without a cut. */
const cases = ["send", "ask"].flatMap((does) =>
  ROLES.flatMap((ends) => [undefined, ...ROLES].map((cut) => ({ does, ends, cut }))),
);

test.each(cases)(
  "whatever state the servers' subscriptions are in, a reader gets all that was sent, then the end: %o",
  async ({ does, ends, cut }) => {
    const runs = cut ? MOMENTS.map((when) => ({ when, latency: 0 })) : [0, 15].map((latency) => ({ latency }));
    await Promise.all(runs.map((one) => run({ does, ends, cut, when: undefined, ...one })));
  },
);

interface Case {
  readonly does: string;
  readonly ends: (typeof ROLES)[number];
  readonly cut: (typeof ROLES)[number] | undefined;
  readonly when: Moment | undefined;
  readonly latency: number;
}

async function run({ does, ends, cut, when, latency }: Case): Promise<void> {
  const [shared, log] = [memoryPubSub(), memoryLog()];
  const limits = { queryWithin: 50, storeWithin: 2000, interruptedFor: 300, lingerFor: 10 };
  const made = ROLES.map(() => connection(shared, latency));
  const [reading, sending, third] = made.map(({ pubSub }) => agentOn(pubSub, log, limits));
  const servers = { reader: reading!, sender: sending!, third: third! };
  const at = (moment: Moment): void => {
    if (when === moment) made[ROLES.indexOf(cut!)]!.cut(30);
  };
  at("reading");
  const reader = await servers.reader.reader("s");
  const prompt = async (word: string): Promise<void> => {
    const session = await servers.sender.session("s");
    if (does === "send") session.send(say(word));
    else session.ask(call(word)).catch(() => {});
  };
  at("sending");
  await prompt("1");
  at("sending more");
  await prompt("2");
  at("ending");
  await servers[ends].client.endSession({ session_id: "s" });
  at("ended");
  expect({ when, latency, got: await reader.take(2) }).toEqual({ when, latency, got: numbers(1, 2) });
  expect(["done", "ended_early"]).toContain(await reader.end());
  const rest = { readers: 0, streams: 0, sessions: 0, queued: 0, asks: 0 };
  for (const { app } of Object.values(servers)) {
    await vi.waitFor(() => expect(app.stats()).toMatchObject(rest));
    app.close();
  }
}

test.each([0, 1])(
  "a reader that is opened gets what any server sends from then on, however late packets come, and though %i others have it before",
  async (others) => {
    const [shared, log] = [memoryPubSub(), memoryLog()];
    const [reading, sending] = [30, 30].map((delivery) => agentOn(connection(shared, 0, delivery).pubSub, log));
    const before = await Promise.all(Array.from({ length: others }, () => sending!.reader("s")));
    const session = await sending!.session("s");
    const reader = await reading!.reader("s");
    for (const word of numbers(1, 20)) session.send(say(word));
    for (const one of before) expect(await one.take(20)).toEqual(numbers(1, 20));
    await sending!.client.endSession({ session_id: "s" });
    expect(await reader.take(20)).toEqual(numbers(1, 20));
    expect(await reader.end()).toBe("ended_early");
    for (const { app } of [reading!, sending!]) app.close();
  },
);

describe("a session that ends elsewhere", () => {
  const limits = { queryWithin: 50, storeWithin: 2000, interruptedFor: 500, lingerFor: 10 };

  /** A reader on one server, and a session on another one, whose connection takes a time. */
  async function two(latency: number) {
    const [shared, log] = [memoryPubSub(), memoryLog()];
    const [near, far] = [connection(shared, 0), connection(shared, latency)];
    const [reading, sending] = [near, far].map(({ pubSub }) => agentOn(pubSub, log, limits));
    onTestFinished(() => {
      for (const { app } of [reading!, sending!]) app.close();
    });
    const reader = await reading!.reader("s");
    return { reader, session: await sending!.session("s"), sending: sending!, cut: far.cut, reading: reading! };
  }

  test.each([5, 20, 50])("waits for what a server sent before it was cut off: %i ms from pub/sub", async (latency) => {
    const { reader, session, reading, cut } = await two(latency);
    await session.send(say("1"));
    cut(200);
    await reading.client.endSession({ session_id: "s" });
    expect(await reader.take(1)).toEqual(["1"]);
    expect(await reader.end()).toBe("done");
  });

  test("is no loss where a server that sent to it has closed before", async () => {
    const { reader, session, reading, sending } = await two(0);
    session.send(say("1"));
    expect(await reader.take(1)).toEqual(["1"]);
    sending.app.close();
    await reading.client.endSession({ session_id: "s" });
    expect(await reader.end()).toBe("done");
  });

  test.each([2, 3])("lacks only what a server that has closed could not say: %i messages", async (sent) => {
    const { reader, session, reading, sending, cut } = await two(0);
    await session.send(say("1"));
    expect(await reader.take(1)).toEqual(["1"]);
    cut(50);
    // The first is on its way, and the next one waits for its confirmation.
    for (const word of numbers(2, sent)) session.send(say(word));
    sending.app.close();
    await reading.client.endSession({ session_id: "s" });
    expect(await reader.take(1)).toEqual(["2"]);
    if (sent === 2) expect(await reader.end()).toBe("done");
    else expect(await reader.take(1)).toEqual(["error"]);
  });

  test("is a loss where a server was killed that had more for it", async () => {
    const { reader, session, reading, cut } = await two(5);
    await session.send(say("1"));
    cut(10_000);
    await reading.client.endSession({ session_id: "s" });
    expect(await reader.take(1)).toEqual(["error"]);
  });
});

/** Ends are remembered for 200 ms here, and a server is away for longer than that. */
describe("a server that is away for longer than ends are remembered", () => {
  const limits = { queryWithin: 50, storeWithin: 50, interruptedFor: 100, lingerFor: 10, onError: false } as const;
  const AWAY = 350;

  function three() {
    const [shared, log] = [memoryPubSub(), memoryLog()];
    const made = ROLES.map(() => connection(shared, 0));
    const agents = made.map(({ pubSub }) => agentOn(pubSub, log, limits));
    onTestFinished(() => {
      for (const { app } of agents) app.close();
    });
    return { made, agents };
  }

  test.each([0, 1])("says the end that was made there, and what was sent before, when it is back: %i", async (sent) => {
    const { made, agents } = three();
    const [reading, ending] = agents;
    const reader = await reading!.reader("s");
    const session = await ending!.session("s");
    made[1]!.cut(AWAY);
    if (sent > 0) session.send(say("1"));
    await ending!.client.endSession({ session_id: "s" });
    expect(await reader.take(sent)).toEqual(numbers(1, sent));
    expect(["done", "ended_early"]).toContain(await reader.end());
  });

  test("ends its readers with the protocol's error, because their session may be over", async () => {
    const { made, agents } = three();
    const [reading, sending] = agents;
    const reader = await reading!.reader("s");
    await sending!.session("s");
    made[0]!.cut(AWAY);
    await sending!.client.endSession({ session_id: "s" });
    expect(await reader.take(1)).toEqual(["error"]);
  });

  test("keeps its readers when it was away for less than half of that", async () => {
    const { made, agents } = three();
    const [reading, sending] = agents;
    const reader = await reading!.reader("s");
    const session = await sending!.session("s");
    made[0]!.cut(50);
    session.send(say("1"));
    expect(await reader.take(1)).toEqual(["1"]);
  });
});

describe("a decision that comes to another server than the one that asks", () => {
  const limits = { queryWithin: 50, storeWithin: 50, interruptedFor: 200, lingerFor: 10, onError: false } as const;
  const decision = { session_id: "s", tool_call_id: "1" };

  async function asked() {
    const [shared, log] = [memoryPubSub(), memoryLog()];
    const made = ["asks", "decides"].map(() => connection(shared, 0));
    const [asking, deciding] = made.map(({ pubSub }) => agentOn(pubSub, log, limits));
    onTestFinished(() => {
      for (const { app } of [asking!, deciding!]) app.close();
    });
    const session = await asking!.session("s");
    const answer = session.ask(call("1"));
    answer.catch(() => {});
    const decide = () => statusOf(deciding!.client.approve(decision));
    return { asking: asking!, cut: made[0]!.cut, answer, decide };
  }

  test("is to be tried again while that one's pub/sub is away, and counts afterwards", async () => {
    const { cut, answer, decide } = await asked();
    cut(150);
    expect(await decide()).toBe(503);
    await vi.waitFor(async () => expect(await decide()).toBe(200));
    expect((await answer).type).toBe("approve");
  });

  test("is about no ask once that one has been away for longer than an interruption", async () => {
    const { cut, decide } = await asked();
    cut(10_000);
    expect(await decide()).toBe(503);
    await vi.waitFor(async () => expect(await decide()).toBe(404));
  });

  test("is about no ask once that one is closed", async () => {
    const { asking, decide } = await asked();
    asking.app.close();
    expect(await decide()).toBe(404);
  });
});
