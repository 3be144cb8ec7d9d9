import type { Result } from "@parlance/conformance";
import { anyOf, ordered } from "@parlance/conformance/internal/run";
import { runCases } from "@parlance/conformance/node";
import { describe, expect, test } from "vitest";
import { brokenClient } from "./broken/clients.js";
import { brokenServer } from "./broken/servers.js";
import { type Case, contracts, forFixtures, long, SEED, suiteAt } from "./suites.js";

// For each fault that a case names there is a peer that has it: its cases turn red, and no others.

/**
 * By default a few cases of two contracts. `PARLANCE_LONG` has every fault of every contract with all of its own cases and some of the others;
 * `PARLANCE_LONG=whole` has every case with every fault. `PARLANCE_CONTRACT=based,loco` names the contracts.
 */
const names = process.env.PARLANCE_CONTRACT?.split(",") ?? (long ? contracts : ["based", "vault"]);
const whole = process.env.PARLANCE_LONG === "whole";
const ALL = Number.POSITIVE_INFINITY;
const FAULTS = long ? ALL : 6;
const OWN = long ? ALL : 1;
const OTHERS = whole ? ALL : long ? 60 : 1;
/** Milliseconds for what should fail, often by waiting for something in vain, and for what should pass. */
const RED = 500;
const GREEN = 20_000;
/** Faults that are tried side by side, because most of their time is waiting. */
const SIDE_BY_SIDE = 6;

const few = <T>(items: readonly T[], most: number) => ordered(items, SEED).slice(0, most);

describe.each(names)("a broken peer of %s:", (name) => {
  test.each(["server", "client"] as const)(
    "a %s with one fault turns the cases of this fault red, and no others",
    async (side) => {
      const { document, suite } = await suiteAt(name);
      const all: readonly Case[] = side === "server" ? forFixtures(suite.server) : suite.client;
      const kills = few([...new Set(all.map(({ kill }) => kill))], FAULTS);
      const began = performance.now();
      let tried = 0;
      /** Puts cases to a peer with a fault, and returns what became otherwise than it should. */
      const wrong = async (kill: string, isOwn: boolean): Promise<unknown[]> => {
        const wait = isOwn ? RED : GREEN;
        const make = side === "server" ? brokenServer : brokenClient;
        const { peer, also } = await make(document, kill, wait);
        const mayFail = anyOf(also);
        const cases = all.filter((one) => (isOwn ? one.kill === kill : one.kill !== kill && !mayFail(one.id)));
        // Known, so that a run of cases that wait in vain does not end: how many do so in a row depends on the load of the machine.
        const should: Result["outcome"] = isOwn ? "known" : "passed";
        const known = isOwn ? [{ pattern: "**" }] : [];
        try {
          const chosen = few(cases, isOwn ? OWN : OTHERS);
          tried += chosen.length;
          const results = await runCases(suite, chosen, { [side]: peer, wait, known });
          return results
            .filter(({ outcome }) => outcome !== should)
            .map(({ id, outcome, expected, came }) => ({ kill, id, outcome, expected, came }));
        } finally {
          await peer.close();
        }
      };
      const left = [...kills];
      const problems: unknown[] = [];
      const worker = async () => {
        for (let kill = left.shift(); kill !== undefined; kill = left.shift())
          problems.push(...(await wrong(kill, true)), ...(await wrong(kill, false)));
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
      if (long)
        console.log(
          `${name}, ${side}: ${kills.length} faults, ${all.length} cases, ${tried} runs in ${((performance.now() - began) / 1000).toFixed(1)} s`,
        );
      expect(problems).toEqual([]);
    },
    1_800_000,
  );
});
