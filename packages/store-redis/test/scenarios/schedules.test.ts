import { describe, expect, test } from "vitest";
import { drawFaults, KINDS } from "../../../server/test/resume/drawn.js";
import { hold } from "../../../server/test/resume/fault-schedule.js";
import { random, seedsFor } from "../../../server/test/resume/random.js";
import { hasRedis } from "../redis.js";
import { type RedisFault, TIMEOUT, type TwoServers, twoServers } from "../two-servers.js";

const count = process.env.PARLANCE_LONG === undefined ? 30 : 2000;
/** Schedules at a time, each on two servers and a Redis that no other has meanwhile. */
const AT_ONCE = 8;
const REDIS_KINDS = ["pause", "restart", "cut", "flush", "full", "slow"] as const;

/** A schedule that only delays: everything is to arrive. */
const isDelayed = (seed: number) => seed % 4 === 0;

/** Draws up to three faults of Redis. A few of its pauses are longer than it may take. */
function drawRedisFaults(next: () => number, delayed: boolean): RedisFault[] {
  const below = (limit: number) => Math.floor(next() * limit);
  const kinds = delayed ? (["pause", "slow"] as const) : REDIS_KINDS;
  return Array.from({ length: below(4) }, () => {
    const [kind, after, long] = [kinds[below(kinds.length)]!, below(120), next() < 0.05 && !delayed];
    return { kind, after, milliseconds: kind === "slow" ? below(20) : (long ? TIMEOUT : 0) + below(150) };
  });
}

/** Holds two or three conversations on two servers, under the faults of up to six connections and of their Redis. */
async function run(servers: TwoServers, seed: number): Promise<string[]> {
  const next = random(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  const delayed = isDelayed(seed);
  const faults = drawFaults(next, delayed ? ["delay"] : KINDS);
  const redisFaults = drawRedisFaults(next, delayed);
  const { conversations: streams, calls } = servers;
  // Nothing in a plain call tells its copy from a second call.
  const duplicates = faults.some((fault) => fault?.kind === "duplicate");
  const all = duplicates ? streams : [...streams, calls];
  const conversations = Array.from({ length: 2 + below(2) }, () => all[below(all.length)]!);
  const before = servers.reports.length;
  const reported = () => servers.reports.slice(before);
  const failing = servers.fail(redisFaults);
  const wrong = await hold(
    {
      server: {
        get port() {
          return servers.ports[below(2)]!;
        },
      },
    },
    {
      name: `seed ${seed} ${JSON.stringify(faults)} ${JSON.stringify(redisFaults)}`,
      conversations,
      count: 40,
      faults,
      options: { reconnectFor: 30_000 },
      excuses: (conversation) => ({
        onlyDelayed: delayed,
        logFailed: conversation.logged && reported().some(({ source }) => source === "log" || source === "a call"),
        emptied: conversation.logged && redisFaults.some(({ kind }) => kind === "flush"),
      }),
    },
  );
  await failing;
  // Such a failure may not come again.
  return wrong.map((text) => `${text}\n  reported meanwhile: ${JSON.stringify(reported())}`);
}

describe.runIf(hasRedis)("two servers on one Redis", () => {
  // PARLANCE_SEED=7 replays what has failed, PARLANCE_SEED=101..200 runs others.
  test(`${count} random schedules of the network's and Redis's faults lose nothing without a gap, repeat nothing and mix nothing up`, async () => {
    const pairs = await Promise.all(Array.from({ length: AT_ONCE }, twoServers));
    const seeds = seedsFor(count).values();
    const wrong: string[] = [];
    const work = async (servers: TwoServers) => {
      for (const seed of seeds) wrong.push(...(await run(servers, seed)));
    };
    await Promise.all(pairs.map(work));
    await Promise.all(pairs.map((servers) => servers.close()));
    expect(wrong.join("\n"), "replay one with PARLANCE_SEED=<seed>").toBe("");
  }, 3_600_000);
});
