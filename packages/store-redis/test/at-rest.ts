import { type RedisLog, type RedisPubSub, redisLog, redisPubSub } from "@parlance/store-redis";
import { afterEach, expect } from "vitest";

interface Counted {
  stats(): object;
  stop(): void;
}

/** The logs and pub/subs of a test file. After each test they are stopped, and then all their counts must be zero. */
export interface AtRest {
  log(options: Parameters<typeof redisLog>[0]): RedisLog;
  pubSub(options: Parameters<typeof redisPubSub>[0]): RedisPubSub;
}

export function atRest(): AtRest {
  const made: Counted[] = [];
  afterEach(() => expectZero(made.splice(0)));
  const add = <T extends Counted>(one: T): T => {
    made.push(one);
    return one;
  };
  return {
    log: (options) => add(redisLog(options)),
    pubSub: (options) => add(redisPubSub(options)),
  };
}

/** Stops them and fails when something is left. */
export function expectZero(counted: readonly Counted[]): void {
  for (const one of counted) {
    one.stop();
    const zero = Object.fromEntries(Object.keys(one.stats()).map((name) => [name, 0]));
    expect(one.stats()).toEqual(zero);
  }
}
