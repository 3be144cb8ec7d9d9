import { afterAll, beforeAll, expect, it } from "vitest";
import { type Conversation, type Fixture, fixture } from "./conversations.js";
import { hold, holdAll, type Run } from "./fault-schedule.js";
import { judge } from "./oracle.js";
import { type Fault, proxy } from "./proxy.js";
import { random } from "./random.js";

const COUNT = 40;
const carriers = ["post", "get", "based", "loco"] as const;
const channels = new Set<string>(["based", "loco"]);
const long = process.env.PARLANCE_LONG !== undefined;

let stage: Fixture;
beforeAll(async () => {
  stage = await fixture({ grace: 5000, heartbeat: 500 });
});
afterAll(() => stage.server.close());

const cut = (at: number): Fault => ({ kind: "cut", at, of: "server", milliseconds: 0 });

let overheardSoFar = 0;

/** What the server sends on each connection, in latin1 so that a character is a byte. */
async function overheard(conversation: Conversation, count: number, faults: readonly (Fault | undefined)[] = []) {
  const said: string[] = [];
  const between = await proxy(
    () => stage.server.port,
    (connection) => faults[connection],
    (connection, chunk) => {
      said[connection] = (said[connection] ?? "") + chunk.toString("latin1");
    },
  );
  const outcome = await conversation.hold(between.url, `m${overheardSoFar++}`, count);
  await between.close();
  expect(judge(outcome)).toEqual([]);
  /** On which connection a message comes, and how many bytes there are on it then. */
  function end(i: number): { on: number; at: number } {
    const on = said.findLastIndex((text) => text.includes(`${outcome.tag}:${i}"`));
    return { on, at: said[on]!.indexOf("}", said[on]!.indexOf(`${outcome.tag}:${i}"`)) + 1 };
  }
  return { said, end };
}

const range = (length: number) => Array.from({ length: Math.ceil(length) }, (_, i) => i);

/** Where the second and third message end on the connection that a conversation goes on with after its first message. */
async function goingOn(conversation: Conversation) {
  const first = (await overheard(conversation, COUNT)).end(0);
  const again = await overheard(conversation, COUNT, [...Array(first.on), cut(first.at + 10)]);
  expect(again.end(1).on).toBeGreaterThan(first.on);
  return { first, second: again.end(1), third: again.end(2) };
}

// With PARLANCE_LONG at every byte, also of what a channel is asked for.
it.each(carriers)(
  "a cut in what a stream begins with loses nothing (%s)",
  async (name) => {
    const conversation = stage.conversations[name];
    const { said, end } = await overheard(conversation, 2);
    const runs = range(end(1).on + 1).flatMap((on) =>
      range(on === end(1).on ? end(1).at : said[on]!.length).map((at): Run => {
        const faults = [...Array(on), cut(at)];
        return { name: `connection ${on} cut at ${at}`, conversations: [conversation], count: 2, faults };
      }),
    );
    expect(runs.length).toBeGreaterThan(300);
    expect(await holdAll(stage, long ? runs : runs.filter((_, i) => i % 10 === 0))).toEqual([]);
  },
  3_600_000,
);

// One conversation, in which each connection is cut a few bytes further than the one before, with PARLANCE_LONG one. It waits for each, so all go at once.
it("a cut at any byte of what a stream goes on with loses nothing", async () => {
  const runs = carriers.map(async (name) => {
    const conversation = stage.conversations[name];
    const { first, second } = await goingOn(conversation);
    const faults = [
      ...Array(first.on),
      cut(first.at),
      ...range(second.at)
        .filter((at) => long || at % 5 === 0)
        .map(cut),
    ];
    return hold(stage, { name: "each a byte further", conversations: [conversation], count: COUNT, faults });
  });
  expect((await Promise.all(runs)).flat()).toEqual([]);
}, 3_600_000);

it.each(carriers)(
  "a cut in each of 40 messages loses nothing (%s)",
  async (name) => {
    const conversation = stage.conversations[name];
    const { first, second, third } = await goingOn(conversation);
    // A few places in a message stand for all: each byte of one is tried above, and with PARLANCE_LONG it is every byte here as well.
    const step = long ? 1 : channels.has(name) ? 17 : 11;
    // Every connection gets one message further, and is cut so many bytes into the next; an id gets longer by three.
    const runs = range((third.at - second.at + 3) / step).map((i): Run => {
      const into = i * step;
      const faults = [...Array(first.on), cut(first.at + into), ...Array(2 * COUNT).fill(cut(second.at + into))];
      return { name: `each cut ${into} bytes into a message`, conversations: [conversation], count: COUNT, faults };
    });
    expect(await holdAll(stage, runs)).toEqual([]);
  },
  3_600_000,
);

// One cut a conversation, at every byte of it.
it.each(long ? carriers : [])(
  "a cut at any byte of 40 messages loses nothing (%s)",
  async (name) => {
    const conversation = stage.conversations[name];
    const { said, end } = await overheard(conversation, COUNT);
    const { on } = end(0);
    const runs = range(said[on]!.length).map((at): Run => {
      const faults = [...Array(on), cut(at)];
      return { name: `cut at ${at}`, conversations: [conversation], count: COUNT, faults };
    });
    expect(await holdAll(stage, runs)).toEqual([]);
  },
  3_600_000,
);

it("two cuts of one conversation of 40 messages, many times by seed, lose nothing", async () => {
  const seed = Number(process.env.PARLANCE_SEED ?? 1);
  console.log(`double cuts by seed ${seed} (PARLANCE_SEED)`);
  const next = random(seed);
  const runs = range(long ? 500 : 25).map((i): Run => {
    const [first, second] = [Math.floor(next() * 3000), Math.floor(next() * 3000)];
    const conversation = stage.conversations[carriers[i % carriers.length]!];
    const name = `double cut ${i} at ${first} and ${second}`;
    return { name, conversations: [conversation], count: COUNT, faults: [cut(first), cut(second)] };
  });
  expect(await holdAll(stage, runs)).toEqual([]);
}, 600_000);

it("200 cuts of one stream lose nothing", async () => {
  const faults = Array.from({ length: 200 }, (_, i) => cut(430 + ((i * 37) % 300)));
  const runs = carriers.map((name): Run => {
    return { name: "200 cuts", conversations: [stage.conversations[name]], count: 400, faults };
  });
  expect(await holdAll(stage, runs)).toEqual([]);
}, 60_000);
