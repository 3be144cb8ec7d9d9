import { memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { expect, test, vi } from "vitest";
import { agentOn, call, numbers, say, statusOf } from "../cluster.js";
import { random } from "../resume/random.js";

/** A call of `publish` that goes wrong. */
interface Call {
  /** Brings the text to its subscribers. */
  arrive(): Promise<number>;
  /** Runs something a moment later. */
  later(run: () => unknown): void;
  /** The topic's subscribers learn a moment later that they may have missed something. */
  interrupt(): void;
}

const never = new Promise<number>(() => {});
const broken = (): Promise<number> => Promise.reject(new Error("the connection broke"));

const FAULTS: Readonly<Record<string, (call: Call) => Promise<number>>> = {
  "arrives and is rejected": ({ arrive }) => arrive().then(broken),
  "arrives and is never answered": ({ arrive }) => arrive().then(() => never),
  "arrives after its rejection": ({ arrive, later }) => {
    later(arrive);
    return broken();
  },
  "arrives after its limit": ({ arrive, later }) => {
    later(arrive);
    return never;
  },
  "arrives twice": ({ arrive }) => arrive().then(arrive),
  "arrives twice, once late": ({ arrive, later }) => {
    later(arrive);
    return arrive();
  },
  "is rejected and lost": broken,
  "is never answered and lost": () => never,
  "is answered and lost": async ({ interrupt }) => {
    interrupt();
    return 1;
  },
  "reaches nobody": async ({ interrupt }) => {
    interrupt();
    return 0;
  },
};

/** A pub/sub of which every third call goes wrong once it is `armed`. */
function faulty(
  pubSub: PubSub,
  fault: (call: Call) => Promise<number>,
  next: () => number,
): PubSub & { armed: boolean } {
  const subscribers = new Map<string, Set<() => void>>();
  const interrupted = new Set<string>();
  const later = (run: () => unknown): void => void setTimeout(run, 30 * next());

  function interrupt(topic: string): void {
    if (interrupted.has(topic)) return;
    interrupted.add(topic);
    later(() => {
      interrupted.delete(topic);
      for (const onInterrupted of subscribers.get(topic) ?? []) onInterrupted();
    });
  }

  return {
    armed: false,
    publish(topic, text) {
      const arrive = () => pubSub.publish(topic, text);
      return !this.armed || next() < 2 / 3 ? arrive() : fault({ arrive, later, interrupt: () => interrupt(topic) });
    },
    async subscribe(topic, receive, onInterrupted = () => {}) {
      const unsubscribe = await pubSub.subscribe(topic, receive);
      const all = subscribers.get(topic) ?? new Set();
      subscribers.set(topic, all.add(onInterrupted));
      return () => {
        all.delete(onInterrupted);
        unsubscribe();
      };
    },
  };
}

/** Short, so that what is lost is soon sent again. */
const LIMITS = { storeWithin: 20, queryWithin: 20, onError: () => {} };

test.each(Object.entries(FAULTS))(
  "readers on two servers get each message and ask once and in order, where a text of pub/sub %s",
  async (_, fault) => {
    const next = random(7);
    const pubSub = faulty(memoryPubSub(), fault, next);
    const [a, b] = [agentOn(pubSub, memoryLog(), LIMITS), agentOn(pubSub, memoryLog(), LIMITS)];
    const readers = [await a.reader("s"), await b.reader("s"), await b.reader("s")];
    const session = await a.session("s");
    // What is sent to a reader that a server has not met may go to the others alone.
    pubSub.armed = true;
    const words = numbers(1, 60);
    for (const word of words) {
      if (Number(word) % 10 === 0) session.ask(call(word)).catch(() => {});
      else session.send(say(word));
      if (next() < 0.3) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    for (const reader of readers) expect(await reader.take(words.length)).toEqual(words);
    session.send(say("last"));
    for (const reader of readers) expect(await reader.take(1)).toEqual(["last"]);
    for (const reader of readers) reader.detach();
  },
);

test.each(Object.entries(FAULTS))(
  "what a reader on another server has is not sent to the next one, where a text of pub/sub %s",
  async (_, fault) => {
    const pubSub = faulty(memoryPubSub(), fault, random(8));
    pubSub.armed = true;
    const [a, b] = [agentOn(pubSub, memoryLog(), LIMITS), agentOn(pubSub, memoryLog(), LIMITS)];
    const session = await a.session("s");
    const words = numbers(1, 30);
    for (const word of words) session.send(say(word));
    const first = await b.reader("s");
    expect(await first.take(words.length)).toEqual(words);
    await vi.waitFor(() => expect(a.app.stats().queued).toBe(0), { timeout: 10_000 });
    const second = await a.reader("s");
    session.send(say("next"));
    for (const reader of [first, second]) {
      expect(await reader.take(1)).toEqual(["next"]);
      reader.detach();
    }
  },
);

/** What goes wrong with the first packet of a kind that decides an ask on another server. */
const ONCE: Readonly<Record<string, { readonly reached: number; readonly late?: true }>> = {
  "is lost": { reached: 2 },
  "reaches nobody": { reached: 0 },
  "comes after its limit": { reached: 2, late: true },
};
const DECIDING = ["find", "settle", "answer to find", "answer to settle"];

test.each(Object.keys(ONCE).flatMap((fault) => DECIDING.map((packet) => ({ packet, fault }))))(
  "a decision is refused with 409 only where its ask is settled, also where the $packet between servers $fault",
  async ({ packet, fault }) => {
    const between = memoryPubSub();
    let [asked, faults, late] = ["", 1, async () => 0];
    const pubSub: PubSub = {
      subscribe: between.subscribe,
      publish(topic, text) {
        const { type } = JSON.parse(text) as { readonly type: string };
        if (type === "find" || type === "settle") asked = type;
        const arrive = () => between.publish(topic, text);
        const isHit = packet === (type === "answer" ? `answer to ${asked}` : type) && faults-- > 0;
        if (!isHit) return arrive();
        if (ONCE[fault]!.late) late = arrive;
        return Promise.resolve(ONCE[fault]!.reached);
      },
    };
    const [a, b] = [agentOn(pubSub, memoryLog(), LIMITS), agentOn(pubSub, memoryLog(), LIMITS)];
    const session = await a.session("s");
    let settled = false;
    session.ask(call("1")).then(() => {
      settled = true;
    });
    // A session is followed a moment after its first message.
    await vi.waitFor(() => expect(a.app.stats().subscriptions).toBe(3));
    const decide = () => statusOf(b.client.approve({ session_id: "s", tool_call_id: "1" }));
    expect(await decide()).toBe(503);
    await late();
    expect([200, 409]).toContain(await decide());
    expect(faults).toBeLessThan(1);
    expect(settled).toBe(true);
  },
);
