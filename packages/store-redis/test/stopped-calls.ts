import { onTestFinished } from "vitest";
import { type Calls, makeCalls } from "../src/calls.js";
import type { RedisClient } from "../src/client.js";

/** The waits on a double of Redis, stopped with the test. */
export function stoppedCalls(redis: object, timeout: number): Calls {
  const calls = makeCalls(redis as RedisClient, timeout);
  onTestFinished(() => calls.stop());
  return calls;
}
