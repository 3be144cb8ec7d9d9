import { afterEach } from "vitest";

/** The seed of a file's random cases: one of its own, or PARLANCE_SEED. Names do not carry it; a test that fails prints it. Call it once, outside of tests. */
export function seeded(own: number): number {
  const seed = Number(process.env.PARLANCE_SEED ?? own);
  afterEach(({ task }) => {
    if (task.result?.state === "fail") console.log(`${task.name}: repeat it with PARLANCE_SEED=${seed}`);
  });
  return seed;
}
