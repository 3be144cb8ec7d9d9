import { EventEmitter } from "node:events";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, serve } from "@parlance/server";
import { type Gauge, type Measure, Scope, totals } from "@parlance/wire/scope";
import { afterAll, expect, test } from "vitest";

// Each test here does what its name says, and `at-rest.test.ts` expects the setup file to fail it, or not to.

const make = (): App => serve(foldGateway, {} as never);
const root = Scope.open(() => {});
const outlives = make();
let earlier: App | undefined;
/** What a test has planted is gone before the next one begins. */
let uproot = (): void => {};
const plant = (release: () => void) => {
  uproot = release;
};

test("clean: an app is left open", () => {
  earlier = make();
  earlier.open();
  outlives.open();
});

test("clean: the app of an earlier test is closed, and one that outlives tests is not", () => {
  expect(earlier!.open().closed).toBe(true);
  expect(outlives.stats().calls).toBe(1);
});

const { queued, logged, held, received, tickets, tombstones, ...gauges } = totals();
const measures = Object.keys({ queued, logged, held, received, tickets, tombstones }) as Measure[];
for (const gauge of Object.keys(gauges) as Gauge[])
  test(`leaks: 1 ${gauge}`, () => {
    uproot();
    plant(root.hold(() => {}, gauge));
  });

for (const of of measures)
  test(`leaks: 7 ${of}`, () => {
    uproot();
    const scope = root.child();
    scope.measure(of, () => 7);
    plant(() => scope.close());
  });

test("leaks: unhandled rejection: Error: planted", () => {
  uproot();
  Promise.reject(new Error("planted"));
});

test("leaks: uncaught exception: Error: planted", async () => {
  setImmediate(() => {
    throw new Error("planted");
  });
  await new Promise((resolve) => setImmediate(resolve));
});

test("leaks: process warning: MaxListenersExceededWarning", () => {
  const emitter = new EventEmitter();
  for (let i = 0; i < 20; i++) emitter.on("event", () => {});
});

test("clean: nothing is planted after all of these", () => {});

afterAll(() => void root.add(() => {}, "asks"));
