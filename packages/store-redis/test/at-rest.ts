import { type RedisLog, type RedisPubSub, redisLog, redisPubSub } from "@parlance/store-redis";
import { afterEach, expect } from "vitest";

interface Counted {
  stats(): { readonly timers: number; readonly calls?: number };
  stop(): void;
}

/** The logs and pub/subs of a test file. After each test they are stopped, and then all their counts must be zero. */
export interface AtRest {
  log(options: Parameters<typeof redisLog>[0]): RedisLog;
  pubSub(options: Parameters<typeof redisPubSub>[0]): RedisPubSub;
}

export function atRest(): AtRest {
  const made: Counted[] = [];
  afterEach(async () => {
    const over = made.splice(0);
    await idle(over);
    expectZero(over);
  });
  const add = <T extends Counted>(one: T): T => {
    made.push(one);
    return one;
  };
  return {
    log: (options) => add(redisLog(options)),
    pubSub: (options) => add(redisPubSub(options)),
  };
}

/** Waits for the last calls of apps that are closed. Where Redis does not answer any more they are not waited for. */
async function idle(counted: readonly Counted[]): Promise<void> {
  for (let tries = 0; tries < 200 && counted.some((one) => (one.stats().calls ?? 0) > 0); tries++)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Stops them and fails when something is left. */
export function expectZero(counted: readonly Counted[]): void {
  for (const one of counted) {
    one.stop();
    const zero = Object.fromEntries(Object.keys(one.stats()).map((name) => [name, 0]));
    expect(one.stats()).toEqual(zero);
  }
}
