import type { App } from "@parlance/server";
import { type Stats, totals } from "@parlance/wire/scope";
import { afterAll, beforeEach, expect, vi } from "vitest";

// Zero at rest, for every test of this project: its apps are closed after it, and then nothing is held and nothing has failed unseen.

/** Milliseconds that what a test has ended may take to let go. */
const PATIENCE = Number(process.env.PARLANCE_PATIENCE ?? 5000);
// Taken before a test puts fake timers in their place.
const { setImmediate: turn, performance: clock } = globalThis;

/** Kept by the process: the files that a worker runs share their modules, but each runs this one again. */
const kept = vi.hoisted(() => {
  const fresh = {
    /** Apps of the test that runs, and those that outlive it: made before the first test, or between two. */
    recorded: { test: new Set<App>(), file: new Set<App>(), inTest: false },
    /** Failures that nobody has handled. */
    unseen: [] as string[],
    watched: false,
    now: performance.now,
    setTimeout,
    /** What servers of other packages put their own in place of. */
    classes: { Request, Response, Headers, fetch },
    file: "",
  };
  const holder = globalThis as { parlanceAtRest?: typeof fresh };
  holder.parlanceAtRest ??= fresh;
  return holder.parlanceAtRest;
});
const { recorded, unseen, setTimeout: pause } = kept;
vi.mock("../../src/serve.js", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../src/serve.js")>();
  return {
    ...original,
    serve: ((...args: Parameters<typeof original.serve>) => {
      const [contract, handlers, options] = args;
      // A test serves the handlers that it is about.
      const app = original.serve(contract, handlers, { partial: true, ...options });
      (recorded.inTest ? recorded.test : recorded.file).add(app);
      return app;
    }) as typeof original.serve,
  };
});

if (!kept.watched) {
  kept.watched = true;
  process.on("unhandledRejection", (reason) => unseen.push(`unhandled rejection: ${textOf(reason)}`));
  process.on("uncaughtExceptionMonitor", (error, origin) => {
    if (origin === "uncaughtException") unseen.push(`uncaught exception: ${textOf(error)}`);
  });
  process.on("warning", (warning) => unseen.push(`process warning: ${textOf(warning)}`));
}

// Between two files, spies are put back: one on a timer of a false clock brings that clock back. Use `vi.stubGlobal` for it.
if (globalThis.setTimeout !== pause || clock.now !== kept.now)
  throw new Error(`${kept.file}, the file before this one, spied on a timer of a false clock`);
const replaced = Object.entries(kept.classes).filter(([name, one]) => globalThis[name as "fetch"] !== one);
if (replaced.length > 0)
  throw new Error(`${kept.file}, the file before this one, left another ${replaced.map(([name]) => name).join(", ")}`);
kept.file = expect.getState().testPath ?? "";

beforeEach(({ onTestFinished }) => {
  recorded.inTest = true;
  // Registered first, so it runs last: after the test's own hooks.
  onTestFinished(async () => {
    recorded.inTest = false;
    await rest(recorded.test, recorded.file);
  });
});
afterAll(async () => {
  const isFalse = !isReal();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  await rest(recorded.file, new Set());
  // The next file of this worker would wait for a clock that stands still.
  if (isFalse) throw new Error("a file must put the real clock back");
});

const isReal = () => !vi.isFakeTimers() && globalThis.setTimeout === pause && clock.now === kept.now;

async function rest(over: Set<App>, others: ReadonlySet<App>): Promise<void> {
  for (const app of over) app.close();
  over.clear();
  const began = clock.now();
  // Rejections and warnings are known a turn of the loop later.
  await new Promise((resolve) => turn(resolve));
  let held = heldBeside(others);
  while (held.length > 0 && clock.now() - began < PATIENCE) {
    await new Promise((resolve) => pause(resolve, 5));
    held = heldBeside(others);
  }
  const found = [...unseen.splice(0), ...held.map((what) => `still held: ${what}`)];
  if (found.length > 0) throw new Error(`a test must leave nothing behind, but left this: ${found.join(", ")}`);
}

/** What is held by nobody but these apps, by name and number. */
function heldBeside(apps: ReadonlySet<App>): string[] {
  const stats = [...apps].map((app) => app.stats());
  return Object.entries(totals()).flatMap(([name, total]) => {
    const rest = stats.reduce((left, one) => left - one[name as keyof Stats], total);
    return rest === 0 ? [] : [`${rest} ${name}`];
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
