import { expect, it } from "vitest";
import { run } from "../resume/child.js";
import type { Left } from "../soak/heap.js";
import { KINDS } from "../soak/kinds.js";
import type { Weight } from "../soak/large.js";
import type { Kept } from "../soak/log.js";

const long = process.env.PARLANCE_LONG !== undefined;
const COUNT = long ? 20_000 : 60;
const CHANNELS = long ? 5000 : 40;
/** Bytes of heap. Half as much for a fraction of the conversations: what each may leave is some kB at most. */
const LIMIT = long ? 1_000_000 : 500_000;
const MI = 1024 * 1024;

it(`${COUNT} operations and streams, and ${CHANNELS} channels, leave less than ${LIMIT / 1000} kB of heap each`, async () => {
  const child = run(new URL("../soak/heap.ts", import.meta.url), ...[COUNT, CHANNELS, LIMIT].map(String));
  const all: Left[] = [];
  while (all.length < 2 * KINDS.length) all.push(JSON.parse(await child.line()) as Left);
  for (const { kind, place, count, seconds, grown } of all)
    console.log(`${count} ${kind} over ${place}: ${(grown / 1000).toFixed(0)} kB more, ${seconds.toFixed(1)} s`);
  expect(all.filter(({ grown }) => grown > LIMIT)).toEqual([]);
  expect(all.filter(({ held }) => Object.keys(held).length > 0)).toEqual([]);
}, 900_000);

it("what streams hold of large texts is what the gauges report, and a finished one holds nothing of its input", async () => {
  const child = run(new URL("../soak/large.ts", import.meta.url));
  const all: Weight[] = [];
  while (all.length < 7) all.push(JSON.parse(await child.line()) as Weight);
  for (const { name, heap, gauged } of all)
    console.log(`${name}: ${heap.toFixed(2)} bytes of heap, ${gauged.toFixed(2)} characters gauged`);
  const [kept, finished] = [all.slice(0, 5), all.slice(5)];
  expect(kept.filter(({ gauged }) => gauged < 1)).toEqual([]);
  // Of a message that waits to be sent, its handler has a copy.
  expect(kept.filter(({ heap, gauged }) => heap > 1.6 * gauged)).toEqual([]);
  expect(finished.filter(({ heap }) => heap > 0.2)).toEqual([]);
}, 120_000);

it("the memory log stays below its total: the oldest finished streams go first, and their readers are shown a gap", async () => {
  const [total, maxTotal] = long ? [1024 * MI, 256 * MI] : [32 * MI, 8 * MI];
  const child = run(new URL("../soak/log.ts", import.meta.url), String(total), String(maxTotal));
  const kept = JSON.parse(await child.line()) as Kept;
  const { seconds, most, grown, statuses, gap, unfinished } = kept;
  console.log(
    `${total / MI} Mi characters in ${seconds.toFixed(1)} s: ${(most / MI).toFixed(0)} Mi held at most, ${(grown / MI).toFixed(0)} MiB more heap`,
  );
  expect(most).toBeGreaterThan(maxTotal / 2);
  expect(most).toBeLessThanOrEqual(maxTotal);
  // Strings of ASCII take a byte a character.
  expect(grown).toBeLessThan(maxTotal * 1.1 + 16 * MI);
  // First all that are gone, then all that are there.
  const gone = statuses.lastIndexOf(410) + 1;
  expect(statuses).toEqual(statuses.map((_, i) => (i < gone ? 410 : 200)));
  expect(gone).toBeGreaterThan(statuses.length / 2);
  expect(gone).toBeLessThan(statuses.length);
  expect(gap).toMatch(/^gap/);
  expect(unfinished).toEqual([200, true]);
}, 300_000);
