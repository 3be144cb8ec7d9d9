import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { listen } from "@parlance/server/node";
import { totals } from "@parlance/wire/scope";
import { conversations, KINDS, type Kind, makeApps, type Place } from "./kinds.js";

// A process of its own, because a test runner's heap grows by itself. Writes one line of JSON for each kind and place.

/** What one kind left behind. */
export interface Left {
  readonly kind: Kind;
  readonly place: Place;
  readonly count: number;
  readonly seconds: number;
  /** Bytes of heap, after collection, more than before: of the last round. */
  readonly grown: number;
  /** What the scopes of this process hold. */
  readonly held: Readonly<Record<string, number>>;
}

/** Conversations at a time. */
const TOGETHER = 16;
/** How often a kind is measured that leaves more than it may. */
const ROUNDS = 3;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function heap(): Promise<number> {
  // Finalizers run between collections, and may free more.
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return process.memoryUsage().heapUsed;
}

async function repeat(count: number, run: () => Promise<void>): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: TOGETHER }, worker));
}

function held(): Record<string, number> {
  return Object.fromEntries(Object.entries(totals()).filter(([, count]) => count !== 0));
}

async function rest(): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (Object.keys(held()).length > 0 && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10));
}

const [most, mostChannels, limit] = process.argv.slice(2).map(Number) as [number, number, number];
const apps = makeApps();
const server = await listen([apps.fold, apps.sockets], { port: 0, closeAfter: 0 });
// A busy machine would close idle connections at the moment that the client uses them again.
server.server.keepAliveTimeout = 0;
for (const place of ["sockets", "memory"] as const) {
  const kinds = conversations(apps, place, server.url);
  for (const kind of KINDS) {
    const count = kind.includes("channel") ? mostChannels : most;
    // What is compiled and made once and for all is not counted.
    await repeat(Math.min(count, 2000), kinds[kind]);
    await rest();
    let [grown, seconds] = [Number.POSITIVE_INFINITY, 0];
    // What a busy machine had not collected or compiled in time is there once: what leaks is left by each round.
    for (let round = 0; round < ROUNDS && grown > limit; round++) {
      const before = await heap();
      const started = performance.now();
      await repeat(count, kinds[kind]);
      seconds = (performance.now() - started) / 1000;
      await rest();
      grown = (await heap()) - before;
    }
    console.log(JSON.stringify({ kind, place, count, seconds, grown, held: held() } satisfies Left));
  }
}
await server.close();
process.exit();
