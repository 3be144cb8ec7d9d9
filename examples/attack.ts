import { expect, onTestFinished } from "vitest";
import { setTrap, type Trap } from "./demo/hostile.js";

/** How many hostile messages an example has to survive. */
export const COUNT = process.env.PARLANCE_LONG ? 500 : 150;

/** The result of the messages, and how many reached the example. */
export type Attack = (trap: Trap, reached: { count: number }) => Promise<void>;

/** Sends hostile messages to an example: all have to reach it, and nothing outside its folder may change. */
export async function attack(act: Attack): Promise<void> {
  const trap = await setTrap(COUNT);
  onTestFinished(trap.remove);
  const before = await trap.outside();
  const reached = { count: 0 };
  await act(trap, reached);
  expect(await trap.outside()).toBe(before);
  expect(reached.count).toBeGreaterThanOrEqual(COUNT);
}
