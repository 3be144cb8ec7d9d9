import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { bearer, serve } from "@parlance/server";
import { waiter } from "@parlance/wire/link";
import { expect, it, onTestFinished } from "vitest";

// A message counts towards the limits of its principal until the channel's handler is done with it, as the input of a call does.

const MI = 1024 * 1024;
const INITIAL = { type: "initial_state" as const, files: [], activeFile: null };

/** Channels whose handlers work on each message until `done`. */
function serving() {
  const done = waiter();
  const handled: string[] = [];
  const app = serve(
    based,
    {
      async session(_, channel) {
        channel.send(INITIAL);
        for await (const { type } of channel) {
          handled.push(type);
          await done.promise;
        }
      },
    },
    { authenticate: bearer({ ann: "ann", bob: "bob" }), maxReceived: 4 * MI, onError: false },
  );
  onTestFinished(() => void app.close());
  const open = async (token: string) => {
    const channel = await connect(based, { fetch: app.fetch, webSocket: app.webSocket, token }).session();
    channel.closed.catch(() => {});
    return channel;
  };
  return { app, open, done, handled };
}

const turns = async () => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

it.each([
  ["one long text", "x".repeat(900_000), 4],
  ["many small values", Array.from({ length: 75_000 }, () => ({})), 4],
])(
  "holds large frames of %s up to the limit of their principal, and closes the channel of the next",
  async (_, padding, fit) => {
    const { app, open, done, handled } = serving();
    const channels = await Promise.all(Array.from({ length: fit + 1 }, () => open("ann")));
    for (const channel of channels) channel.send({ type: "list_files", padding } as never);
    await expect(channels[fit]!.closed).rejects.toMatchObject({ message: expect.stringContaining("1008") });
    expect(handled).toHaveLength(fit);
    expect(app.stats().received).toBeGreaterThan(0);

    // Another one is not held up by it.
    const other = await open("bob");
    other.send({ type: "list_files", padding } as never);
    await turns();
    expect(handled).toHaveLength(fit + 1);

    done.resolve();
    await turns();
    expect(app.stats().received).toBe(0);
    const later = await open("ann");
    later.send({ type: "list_files", padding } as never);
    await turns();
    expect(handled).toHaveLength(fit + 2);
  },
);

it("counts a frame that waits behind another until its turn", async () => {
  const { app, open, done, handled } = serving();
  const channel = await open("ann");
  const padding = "x".repeat(100_000);
  for (let i = 0; i < 3; i++) channel.send({ type: "list_files", padding } as never);
  await turns();
  expect(handled).toHaveLength(1);
  expect(app.stats().received).toBeGreaterThan(300_000);
  done.resolve();
  await turns();
  expect([handled.length, app.stats().received]).toEqual([3, 0]);
});

it("counts nothing of a frame that is refused", async () => {
  const { app, open } = serving();
  const channel = await open("ann");
  channel.send({ type: "read_file", padding: "x".repeat(100_000) } as never);
  await turns();
  expect(app.stats().received).toBe(0);
});

it("refuses a frame whose message takes more than four times its limit", async () => {
  const { app, open, handled } = serving();
  const channel = await open("ann");
  const padding = Array.from({ length: 100_000 }, () => ({}));
  channel.send({ type: "list_files", padding } as never);
  await expect(channel.closed).rejects.toMatchObject({ message: expect.stringContaining("1009") });
  expect([handled, app.stats().received]).toEqual([[], 0]);
});
