import type { ConnectOptions } from "@parlance/client";
import { expect, it, onTestFinished } from "vitest";
import { clock } from "./clock.js";
import { fixture } from "./conversations.js";
import { judge } from "./oracle.js";
import { type Fault, proxy } from "./proxy.js";
import { random } from "./random.js";
import { HASTY, runConversation, texts } from "./run-conversation.js";

/** The way to a server in memory: it can be down, which cuts everything that is open and refuses what comes. */
function road(
  now: () => number,
  { fetch, webSocket, baseUrl }: Required<Pick<ConnectOptions, "baseUrl" | "fetch" | "webSocket">>,
) {
  const open = new Set<() => void>();
  /** When somebody came through. */
  const arrivals: number[] = [];
  let refused = 0;
  let down = false;
  function pass(): void {
    if (down) {
      refused++;
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
    }
    arrivals.push(now());
  }
  const options: ConnectOptions = {
    baseUrl,
    async fetch(request) {
      pass();
      const gone = new AbortController();
      const signal = AbortSignal.any([request.signal, gone.signal]);
      const response = await fetch(new Request(request, { signal }));
      open.add(() => gone.abort());
      return response;
    },
    async webSocket(url, init) {
      pass();
      const port = await webSocket(url, init);
      if ("close" in port) open.add(() => port.close(1006, ""));
      return port;
    },
  };
  return {
    options,
    arrivals,
    get refused() {
      return refused;
    },
    fall(): void {
      down = true;
      for (const cut of open) cut();
      open.clear();
    },
    rise(): void {
      down = false;
      arrivals.length = 0;
    },
  };
}

const long = process.env.PARLANCE_LONG !== undefined;
const herd = long ? 2000 : 500;

it(`${herd} clients that come back after five seconds all go on, and do not come at once`, async () => {
  const time = clock();
  const seed = Number(process.env.PARLANCE_SEED ?? 1);
  const stage = await fixture({ grace: 60_000 });
  onTestFinished(() => stage.server.close());
  const way = road(() => time.now, stage.memory);
  const clients = Array.from({ length: herd }, (_, i) => {
    const carrier = (["post", "get", "loco"] as const)[i % 3]!;
    const tag = `${carrier}${i}-20-10`;
    const got: string[] = [];
    const wanted = texts(tag);
    const connection = { ...HASTY, ...way.options, random: random(seed + i) };
    const ended = runConversation[carrier](connection, tag, wanted, got).then(
      () => undefined,
      (error: unknown) => error,
    );
    return { tag, wanted, got, ended };
  });
  let over = false;
  const outcomes = Promise.all(
    clients.map(async ({ ended, ...client }) => ({ ...client, error: await ended, ...stage.seen(client.tag) })),
  ).finally(() => {
    over = true;
  });
  /** What runs is done when nothing comes of it any more: meanwhile no time goes by. */
  async function settle(): Promise<void> {
    let before = -1;
    for (let quiet = 0; quiet < 5; quiet++) {
      const now = clients.reduce((sum, { got }) => sum + got.length, way.arrivals.length + way.refused);
      if (now !== before) quiet = 0;
      before = now;
      await new Promise(setImmediate);
    }
  }
  async function pass(milliseconds: number): Promise<void> {
    for (const end = time.now + milliseconds; time.now < end && !over; ) {
      time.tick();
      await settle();
    }
  }
  while (!clients.every(({ got }) => got.length === 10)) await settle();
  way.fall();
  await pass(5000);
  expect(way.refused).toBeGreaterThan(herd);
  way.rise();
  stage.goOn();
  await pass(60_000);
  expect((await outcomes).flatMap((outcome) => judge(outcome))).toEqual([]);

  // Full jitter: a client that waits up to four seconds comes at any time within them.
  const windows = new Map<number, number>();
  for (const at of way.arrivals) {
    const window = Math.floor(at / 100);
    windows.set(window, (windows.get(window) ?? 0) + 1);
  }
  const most = Math.max(...windows.values());
  console.log(`seed ${seed}: ${way.refused} refused, ${way.arrivals.length} came, ${most} at most in 100 ms`);
  expect(most).toBeLessThan(way.arrivals.length / 10);
  expect(way.refused / herd).toBeLessThan(15);
}, 180_000);

const [clients, downtime] = long ? [2000, 5000] : [100, 500];
it(`${clients} clients that are cut within ${downtime} ms all go on, over sockets`, async () => {
  const stage = await fixture({ grace: 60_000 });
  let up: number | undefined;
  const between = await proxy(
    () => stage.server.port,
    (connection): Fault | undefined => {
      if (connection === 0) up = Date.now() + downtime;
      // Each is cut in the middle, and a client that returns too early is not answered.
      const at = connection < clients ? 500 : 0;
      return at > 0 || Date.now() < up! ? { kind: "reset", at, of: "server", milliseconds: 0 } : undefined;
    },
  );
  onTestFinished(async () => {
    await between.close();
    await stage.server.close();
  });
  const options = { random: Math.random };
  const held = Array.from({ length: clients }, (_, i) =>
    stage.conversations.post.hold(between.url, `h${i}`, 20, options),
  );
  expect((await Promise.all(held)).flatMap((outcome) => judge(outcome))).toEqual([]);
  console.log(`${between.connections} connections of ${clients} clients`);
  expect(between.connections).toBeGreaterThan(1.5 * clients);
}, 180_000);
