import { afterAll, beforeAll, expect, it } from "vitest";
import { type Fixture, fixture } from "./conversations.js";
import { drawFaults, KINDS } from "./drawn.js";
import { holdAll, type Run } from "./fault-schedule.js";
import { random, seedsFor } from "./random.js";

const count = process.env.PARLANCE_LONG === undefined ? 30 : 2000;

let stage: Fixture;
beforeAll(async () => {
  stage = await fixture({ grace: 5000, heartbeat: 500 });
});
afterAll(() => stage.server.close());

/** Up to six faulty connections under two or three conversations at a time. */
function schedule(seed: number): Run {
  const next = random(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  const faults = drawFaults(next, KINDS);
  const { calls, ...streams } = stage.conversations;
  // Nothing in a plain call tells its copy from a second call.
  const duplicates = faults.some((fault) => fault?.kind === "duplicate");
  const all = Object.values(duplicates ? streams : { ...streams, calls });
  const conversations = Array.from({ length: 2 + below(2) }, () => all[below(all.length)]!);
  return { name: `seed ${seed} ${JSON.stringify(faults)}`, conversations, count: 40, faults };
}

// PARLANCE_SEED=7 replays what has failed, PARLANCE_SEED=101..200 runs others.
it(`${count} random schedules of faults lose nothing, repeat nothing and mix nothing up`, async () => {
  const wrong = await holdAll(stage, seedsFor(count).map(schedule));
  expect(wrong.join("\n"), "replay one with PARLANCE_SEED=<seed>").toBe("");
}, 3_600_000);
