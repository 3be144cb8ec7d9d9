import { expect, it, onTestFinished, vi } from "vitest";
import { run } from "./child.js";
import { fixture } from "./conversations.js";
import { type Carrier, GREETINGS } from "./run-conversation.js";

interface Told {
  readonly tag: string;
  readonly error?: { readonly code?: string };
  readonly heard: number;
  readonly right: boolean;
}

/** Each waits after ten messages. What the streams say then is more than two sockets hold. */
const all: Readonly<Record<Carrier, string>> = {
  post: "post-400-10-32768",
  get: "get-400-10-32768",
  based: "based-200-10",
  loco: "loco-200-10-1000",
};
const carriers = Object.keys(all) as Carrier[];

/** Stops a client with all of these conversations until the server has dropped it; returns what they come to when it wakes. */
async function stopped(grace: number, isTime: (closed: number) => boolean): Promise<Told[]> {
  let closed = 0;
  const hooks = { close: () => void closed++ };
  // A reader that takes nothing is cut soon, and so is a socket that answers no ping.
  const stage = await fixture({ grace, stall: 300, heartbeat: 200, hooks });
  const { server } = stage.server;
  server.keepAliveTimeout = 100;
  onTestFinished(() => stage.server.close());
  const client = run(
    new URL("./talking.ts", import.meta.url),
    stage.server.url,
    ...carriers.map((one) => `${one}:${all[one]}`),
  );
  expect(await client.line()).toBe("begun");
  client.signal("SIGSTOP");
  stage.goOn();
  const connections = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
  await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 60_000 });
  await vi.waitFor(() => expect(isTime(closed)).toBe(true), { timeout: 60_000 });
  client.signal("SIGCONT");
  const told = JSON.parse(await client.line()) as Told[];
  for (const [carrier, tag] of Object.entries(all)) {
    const { begun, commands } = stage.seen(tag);
    expect([carrier, begun <= 1, [...commands.values()].every((times) => times === 1)]).toEqual([carrier, true, true]);
  }
  return told;
}

it("a client that was stopped while the server dropped it loses nothing when it wakes in time", async () => {
  const told = await stopped(60_000, (closed) => closed === 0);
  expect(told).toEqual(carriers.map((one) => ({ tag: all[one], heard: Number(all[one].split("-")[1]), right: true })));
}, 180_000);

it("a client that wakes too late gets what is missing in its error", async () => {
  const told = await stopped(2000, (closed) => closed === carriers.length);
  for (const [i, { tag, heard, right, error }] of told.entries()) {
    const after = heard + GREETINGS[carriers[i]!];
    // Two sockets may hold all that the last one is sent.
    const whole = tag === all.loco && heard === 200;
    const expected = whole ? undefined : { name: "Disconnected", code: "gap", missing: { after } };
    expect({ tag, right, error }).toEqual({ tag, right: true, error: expected });
  }
}, 180_000);
