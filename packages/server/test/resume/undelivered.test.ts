import { type MemoryLogOptions, memoryLog } from "@parlance/server/resume";
import { describe, it } from "vitest";
import { expectEverything, type ReaderOf } from "./undelivered.js";

const KI = 1024;
const MI = KI * KI;

const logs: Readonly<Record<string, MemoryLogOptions>> = {
  "the default log": {},
  "a log of 2,000 characters a stream": { maxSize: 2000 },
  "a log of 2,000 characters in all": { maxTotal: 2000 },
  "a log of one character": { maxSize: 1, maxTotal: 1 },
};
const streams: Readonly<Record<string, readonly number[]>> = {
  "one message over 4 Mi": [5 * MI],
  "3.2 Mi after 0.9 Mi": [0.9 * MI, 3.2 * MI],
};
const small: Readonly<Record<string, readonly number[]>> = {
  "large and small messages in turn": [10, 3000, 10, 10, 200 * KI, 10, 1500, 1500],
  "many small messages": Array.from({ length: 1000 }, () => 10),
};
const readings: Readonly<Record<string, readonly ReaderOf[]>> = {
  "a fast reader": [{ speed: "fast", server: 0 }],
  "a slow reader": [{ speed: "slow", server: 0 }],
  "a fast and a slow reader": [
    { speed: "fast", server: 0 },
    { speed: "slow", server: 0 },
  ],
  "three readers": [
    { speed: "slow", server: 0 },
    { speed: "fast", server: 0 },
    { speed: "slow", server: 0 },
  ],
  "a fast reader here and a slow one on another server": [
    { speed: "fast", server: 0 },
    { speed: "slow", server: 1 },
  ],
};

describe.each(Object.entries(logs))("with %s", (_, options) => {
  const isDefault = Object.keys(options).length === 0;
  describe.each(Object.entries(isDefault ? streams : small))("a stream of %s", (_, sizes) => {
    it.each(Object.entries(readings))("reaches %s whole", async (_, readers) => {
      const log = memoryLog(options);
      await expectEverything(sizes, readers, [log, log]);
    });
  });
});
