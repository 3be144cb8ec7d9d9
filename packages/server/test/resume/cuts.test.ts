import { afterAll, beforeAll, expect, it } from "vitest";
import { holdAll, type Run } from "./campaign.js";
import { type Conversation, type Scene, scene } from "./conversations.js";
import { type Fault, proxy } from "./proxy.js";
import { random } from "./random.js";

const COUNT = 40;
const carriers = ["post", "get", "based", "loco"] as const;
const long = process.env.PARLANCE_LONG !== undefined;

let stage: Scene;
beforeAll(async () => {
  stage = await scene({ grace: 5000, heartbeat: 500 });
});
afterAll(() => stage.server.close());

const cut = (at: number): Fault => ({ kind: "cut", at, of: "server", milliseconds: 0 });

/** How many bytes the server says to `count` messages when nothing goes wrong, on the connection on which it says most. */
async function length(conversation: Conversation, count: number): Promise<number> {
  const between = await proxy(
    () => stage.server.port,
    () => undefined,
  );
  const outcome = await conversation.hold(between.url, "measured", count);
  await between.close();
  expect(outcome.error).toBeUndefined();
  expect(outcome.got).toEqual(outcome.wanted);
  return between.mostSaid;
}

// With PARLANCE_LONG at every byte; else at every 50th, and at every byte of a message by the next test.
it.each(carriers)(
  "a cut anywhere in 40 messages loses none (%s)",
  async (name) => {
    const conversation = stage.conversations[name];
    const bytes = await length(conversation, COUNT);
    const step = long ? 1 : 50;
    const runs = Array.from(
      { length: Math.ceil(bytes / step) },
      (_, i): Run => ({
        name: `cut at ${i * step}`,
        conversations: [conversation],
        count: COUNT,
        faults: [cut(i * step)],
      }),
    );
    expect(await holdAll(stage, runs)).toEqual([]);
  },
  600_000,
);

it.each(["post", "get"] as const)(
  "a cut at every byte of each of 40 messages loses none (%s)",
  async (name) => {
    const conversation = stage.conversations[name];
    const [one, two] = [await length(conversation, 1), await length(conversation, 2)];
    const message = two - one + 4;
    // Every connection gets one message further, and is cut so many bytes into the next.
    const runs = Array.from({ length: message }, (_, into): Run => {
      const faults = Array.from({ length: 2 * COUNT }, () => cut(one + into));
      return { name: `each cut at ${one + into}`, conversations: [conversation], count: COUNT, faults };
    });
    expect(await holdAll(stage, runs)).toEqual([]);
  },
  600_000,
);

it("two cuts of one conversation, 500 times by seed, lose nothing", async () => {
  const seed = Number(process.env.PARLANCE_SEED ?? 1);
  console.log(`double cuts by seed ${seed} (PARLANCE_SEED)`);
  const next = random(seed);
  const runs = Array.from({ length: 500 }, (_, i): Run => {
    const [first, second] = [Math.floor(next() * 900), Math.floor(next() * 900)];
    const conversation = stage.conversations[carriers[i % carriers.length]!];
    const name = `double cut ${i} at ${first} and ${second}`;
    return { name, conversations: [conversation], count: 12, faults: [cut(first), cut(second)] };
  });
  expect(await holdAll(stage, runs)).toEqual([]);
}, 600_000);

it.each(carriers)(
  "200 cuts of one stream lose nothing (%s)",
  async (name) => {
    const conversation = stage.conversations[name];
    const faults = Array.from({ length: 200 }, (_, i) => cut(430 + ((i * 37) % 300)));
    expect(await holdAll(stage, [{ name: "200 cuts", conversations: [conversation], count: 400, faults }])).toEqual([]);
  },
  60_000,
);
