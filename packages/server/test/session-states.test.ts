import { memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { expect, test, vi } from "vitest";
import { agentOn, call, numbers, say } from "./cluster.js";

/** A server's connection to a pub/sub: its calls take a time each, and wait while it is cut; what others publish then is lost to it. */
function connection(shared: PubSub, latency: number) {
  interface Held {
    readonly topic: string;
    readonly receive: (text: string) => void;
    readonly onInterrupted: () => void;
    unsubscribe(): void;
  }
  const held = new Set<Held>();
  let whole = Promise.resolve();
  const ready = async (): Promise<void> => {
    await whole;
    if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
    await whole;
  };
  const pubSub: PubSub = {
    async publish(topic, text) {
      await ready();
      return shared.publish(topic, text);
    },
    async subscribe(topic, receive, onInterrupted = () => {}) {
      await ready();
      const one: Held = { topic, receive, onInterrupted, unsubscribe: await shared.subscribe(topic, receive) };
      held.add(one);
      return () => {
        held.delete(one);
        one.unsubscribe();
      };
    },
  };
  return {
    pubSub,
    cut(milliseconds: number): void {
      for (const one of held) one.unsubscribe();
      whole = new Promise((resolve) => {
        setTimeout(async () => {
          for (const one of held) one.unsubscribe = await shared.subscribe(one.topic, one.receive);
          resolve();
          for (const one of held) one.onInterrupted();
        }, milliseconds);
      });
    },
  };
}

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
