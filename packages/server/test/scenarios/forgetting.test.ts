import { connect } from "@parlance/client";
import { play } from "@parlance/client/testing";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import type { AnyContract } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { expect, test } from "vitest";
import { settledAsks } from "../../src/session/local.js";
import { shutdown } from "../../src/shutdown.js";

const exchanges = [
  { ask: "run", by: "server", key: "id", answers: [{ operation: "allow", key: "run_id" }, { message: "late" }] },
  { ask: "write", by: "server", key: "id", answers: [{ operation: "allow" }, { operation: "deny" }] },
];
const waiting = (index: number, key: string) => ({ exchange: exchanges[index]!, key }) as never;

test("settled asks are known by their session, ask and key, and the oldest are forgotten", () => {
  const asks = settledAsks({ exchanges } as unknown as AnyContract, 2);
  const has = (session: string, reply: object) => asks.has(session, reply as never);
  asks.remember("s", waiting(0, "1"));
  // Of the asks that the operation may answer one is settled.
  expect(has("s", { type: "allow", run_id: "1", id: "2" })).toBe(true);
  for (const other of [
    { type: "allow", id: "1" },
    { type: "deny", id: "1" },
    { type: "late", id: "1" },
    { type: "no" },
  ])
    expect([other, has("s", other)]).toEqual([other, false]);
  expect(has("t", { type: "allow", run_id: "1" })).toBe(false);
  asks.remember("s", waiting(1, "1"));
  expect([has("s", { type: "deny", id: "1" }), has("s", { type: "allow", run_id: "1" })]).toEqual([true, true]);
  asks.remember("s", waiting(1, "2"));
  expect([has("s", { type: "deny", id: "1" }), has("s", { type: "allow", run_id: "1" })]).toEqual([true, false]);
  expect(settledAsks({} as AnyContract, 2).has("s", { type: "allow" })).toBe(false);
});

test("an app that drains ends what is open, once, and what begins later; not what is over", () => {
  const ends: string[] = [];
  const { onDrain, drain, ...state } = shutdown();
  const [open, over] = [Scope.open(() => {}), Scope.open(() => {})];
  const end = () => void ends.push("open");
  for (const _ of [1, 2]) onDrain(open, end);
  onDrain(over, () => ends.push("over"));
  over.close();
  onDrain(over, () => ends.push("over"));
  expect([state.draining, ends]).toEqual([false, []]);
  drain();
  expect(ends).toEqual(["open", "open"]);
  onDrain(open, () => ends.push("late"));
  onDrain(over, () => ends.push("over"));
  expect(ends).toEqual(["open", "open", "late"]);
  open.close();
});

test.each([true, false])(
  "what one channel of a session has got the next one does not get (resume: %s)",
  async (resume) => {
    let send = (_: string): void => {};
    const stream: LoCoHandlers["stream"] = async ({ session_id }, channel, { session }) => {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      const all = session(session_id) as unknown as { send(message: object): void };
      send = (token) => all.send({ type: "assistant.token", token });
      for await (const _ of channel);
    };
    const app = serve(loco, { stream } as Partial<LoCoHandlers> as LoCoHandlers, { authenticate: () => "me" });
    const open = async () => {
      const client_info = { name: "t", version: "0", capabilities: [] };
      const channel = await connect(loco, { ...app, resume, token: "t" }).stream(
        { session_id: "s" },
        { open: { client_info } },
      );
      const { until, heard } = play(channel);
      await until("server.hello");
      return {
        channel,
        until,
        tokens: () => heard.flatMap((message) => (message.type === "assistant.token" ? message.token : [])),
      };
    };
    const first = await open();
    send("1");
    await first.until("assistant.token");
    await first.channel.close();
    const second = await open();
    send("2");
    await second.until("assistant.token");
    expect([first.tokens(), second.tokens()]).toEqual([["1"], ["2"]]);
    await second.channel.close();
  },
);
