import { readFileSync } from "node:fs";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { describe, expect, test } from "vitest";
import { headersDueAfter, LIMITS, LISTEN_LIMITS, LOG_LIMITS, paceOf, resolveLimits } from "../src/limits.js";

const page = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");

/** The rows of a section whose first cell is a name in backticks, as name and default. */
function rows(heading: string): Map<string, string> {
  const section = page.slice(page.indexOf(`## ${heading}`)).split("\n## ")[0]!;
  return new Map([...section.matchAll(/^\| `(\w+)` \| ([^|]+?) \|/gm)].map(([, name, value]) => [name!, value!]));
}

const MI = 1024 * 1024;
const BYTES = new Set(["maxMessageSize", "maxUploadSize", "maxHeaderSize", "maxReceived", "maxTotalReceived"]);
const COUNTS =
  /^max(Total)?(Streams|Calls|Handlers|Finished|Sessions|Asks|Settled|Tombstones|Connections|Headers|Fragments)$/;

/** A limit as the page writes it. */
function written(name: string, value: number): string {
  if (COUNTS.test(name)) return value.toLocaleString("en");
  if (BYTES.has(name)) return value % MI === 0 ? `${value / MI} MiB` : `${value / 1024} KiB`;
  if (name.startsWith("max")) return `${value / MI} Mi characters`;
  return value > 60_000 ? `${value / 60_000} min` : `${value / 1000} s`;
}

describe.each([
  ["Server: `serve(contract, handlers, options)`", LIMITS],
  ["Event log: `memoryLog(options)`", LOG_LIMITS],
  ["Server: `listen(app, options)`", LISTEN_LIMITS],
] as const)("docs/limits.md, %s", (heading, limits) => {
  const documented = rows(heading);

  test.each(Object.entries(limits))("states the default of %s", (name, value) => {
    expect(documented.get(name)).toBe(written(name, value));
  });

  test("names no limit that the code does not have", () => {
    const known = [...Object.keys(limits), "host"];
    expect([...documented.keys()].filter((name) => !known.includes(name))).toEqual([]);
  });
});

test.each(Object.keys(LIMITS))("%s is an option that serve checks", (name) => {
  expect(resolveLimits({ [name]: 7 })).toEqual({ ...LIMITS, [name]: 7 });
  for (const wrong of [-1, Number.NaN, "5", null])
    expect(() => serve(foldGateway, {} as never, { [name]: wrong } as never)).toThrow(
      `${name} is a number of at least 0`,
    );
});

test("docs/limits.md lists every gauge among what a server holds, and limits that exist", () => {
  const section = page.slice(page.indexOf("### What a server holds")).split("\n## ")[0]!;
  const rows = section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| what"));
  const names = (column: number) =>
    rows.flatMap((row) => [...row.split("|")[column]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
  const own = ["timers", "subscriptions"];
  const gauges = Object.keys(serve(foldGateway, {}, { partial: true }).stats()).filter((name) => !own.includes(name));
  expect([...new Set(names(4))].sort()).toEqual(gauges.sort());
  const known = Object.keys({ ...LIMITS, ...LOG_LIMITS, ...LISTEN_LIMITS });
  expect(names(3).filter((name) => !known.includes(name))).toEqual([]);
});

test("SECURITY.md and the pages that it names are there", () => {
  const root = new URL("../../../", import.meta.url);
  const text = readFileSync(new URL("SECURITY.md", root), "utf8");
  const pages = [...text.matchAll(/\]\((docs\/[\w.]+)\)/g)].map(([, path]) => path!);
  expect(pages).toEqual(["docs/threats.md", "docs/limits.md", "docs/promises.md"]);
  for (const path of pages) expect(readFileSync(new URL(path, root), "utf8").length).toBeGreaterThan(0);
});

test("a reader may be as far behind as the larger of its two limits", () => {
  const most = (maxQueued: number, maxBuffered: number) => paceOf({ ...LIMITS, maxQueued, maxBuffered });
  expect(most(1, 2)).toEqual({ room: 1, most: 2, stall: LIMITS.stall });
  expect(most(2, 1)).toEqual({ room: 2, most: 2, stall: LIMITS.stall });
});

test("headers wait for a heartbeat, or for 5 s where there are none", () => {
  expect([70, 0].map((heartbeat) => headersDueAfter({ ...LIMITS, heartbeat }))).toEqual([70, 5000]);
});
