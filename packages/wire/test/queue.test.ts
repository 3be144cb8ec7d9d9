import { Queue } from "@parlance/wire/link";
import fc from "fast-check";
import { expect, test, vi } from "vitest";

const seed = 20261122;
const LIMIT = 10;

type Step = { readonly push: number } | { readonly take: true } | { readonly rest: number } | { readonly end: boolean };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ push: fc.nat({ max: LIMIT + 2 }) }) },
  { weight: 4, arbitrary: fc.record({ take: fc.constant(true as const) }) },
  { weight: 1, arbitrary: fc.record({ rest: fc.nat({ max: 2 * LIMIT }) }) },
  { weight: 1, arbitrary: fc.record({ end: fc.boolean() }) },
);

test(`a queue gives what was put in, in order and within its limit, and its end once, with seed ${seed}`, async () => {
  const failure = new Error("over");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const onTake = vi.fn();
      const queue = new Queue<number>({ limit: LIMIT, onTake });
      // The same, written down plainly.
      const items: { readonly item: number; readonly weight: number }[] = [];
      let readers: Promise<unknown>[] = [];
      let [ended, error, taken, count] = [false, undefined as Error | undefined, 0, 0];
      const weight = () => items.reduce((sum, one) => sum + one.weight, 0);
      const read = () => queue.next().catch((reason) => reason);
      for (const one of steps) {
        if ("push" in one) {
          const item = count++;
          const full = items.length > 0 && weight() > 0 && weight() + one.push > LIMIT;
          const waits = readers.length > 0;
          expect(queue.push(item, one.push)).toBe(ended || waits || !full);
          if (ended || (full && !waits)) continue;
          if (waits) {
            taken++;
            expect(await readers.shift()).toEqual({ value: item, done: false });
          } else items.push({ item, weight: one.push });
        } else if ("take" in one) {
          const reading = read();
          if (items.length > 0) {
            taken++;
            expect(await reading).toEqual({ value: items.shift()!.item, done: false });
          } else if (!ended) readers.push(reading);
          else {
            expect(await reading).toEqual(error ?? { value: undefined, done: true });
            error = undefined;
          }
        } else if ("rest" in one) {
          let left = one.rest;
          const fit = items.findIndex((entry) => {
            left -= entry.weight;
            return left < 0;
          });
          const rest = items.splice(0, fit < 0 ? items.length : fit);
          taken += rest.length;
          expect(queue.rest(one.rest)).toEqual(rest.map(({ item }) => item));
        } else {
          queue.end(one.end ? failure : undefined);
          if (!ended && one.end) error = failure;
          ended = true;
          for (const reading of readers) {
            expect(await reading).toEqual(error ?? { value: undefined, done: true });
            error = undefined;
          }
          readers = [];
        }
        expect([queue.weight, queue.ended, onTake.mock.calls.length]).toEqual([weight(), ended, taken]);
        expect(queue.drained).toBe(ended && items.length === 0 && !error);
      }
    }),
    { seed, numRuns: 300 },
  );
});

test("a queue of thousands of items gives each once, also while it is filled", async () => {
  const queue = new Queue<number>({ limit: Number.POSITIVE_INFINITY });
  for (let item = 0; item < 5000; item++) queue.push(item, 1);
  for (let item = 0; item < 5000; item++) {
    expect((await queue.next()).value).toBe(item);
    queue.push(5000 + item, 1);
  }
  expect(queue.weight).toBe(5000);
  queue.end();
  let next = 5000;
  for await (const item of queue) expect(item).toBe(next++);
  expect(next).toBe(10_000);
});
