import { connect, type Disconnected } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, Refusal, serve } from "@parlance/server";

import { describe, expect, test, vi } from "vitest";
import { cuttable } from "../../src/testing/cuts.js";

// `hooks.close` is called once for each stream and channel, with how it ended.

const never = new Promise<never>(() => {});
const text = { type: "text" as const, text: "x" };
const done = { type: "done" as const, full_response: "x" };

type Talk = (app: ReturnType<typeof cuttable<App>>, resume: boolean) => Promise<unknown>;

const stream: Talk = (app, resume) =>
  connect(foldGateway, { ...app, resume, reconnectFor: 0 })
    .send({ content: "x" })
    .text();
const leaving: Talk = async (app, resume) => {
  for await (const _ of connect(foldGateway, { ...app, resume }).send({ content: "x" })) break;
};
const lost: Talk = async (app, resume) => {
  app.cut({ after: 1 });
  await stream(app, resume).catch((error: Disconnected) => error);
};
const channel: Talk = async (app, resume) => {
  const session = await connect(based, { ...app, resume, reconnectFor: 0 }).session();
  for await (const _ of session) break;
  await session.close();
};
const reading: Talk = async (app, resume) => {
  const session = await connect(based, { ...app, resume, reconnectFor: 0 }).session();
  for await (const _ of session);
};
const losing: Talk = async (app, resume) => {
  app.cut({ after: 1 });
  await reading(app, resume);
};

const ENDS: readonly (readonly [what: string, how: string, handler: (...given: never[]) => unknown, talk: Talk])[] = [
  [
    "a stream that is whole",
    "done",
    async function* () {
      yield text;
      yield done;
    },
    stream,
  ],
  [
    "a stream that is one message",
    "done",
    async function* () {
      yield done;
    },
    stream,
  ],
  [
    "a stream whose client leaves",
    "gone",
    async function* () {
      yield text;
      await never;
    },
    leaving,
  ],
  [
    "a stream whose connection is cut for good",
    "gone",
    async function* () {
      yield text;
      await never;
    },
    lost,
  ],
  [
    "a stream whose handler throws",
    "failed",
    async function* () {
      yield text;
      throw new Error("bug");
    },
    stream,
  ],
  [
    "a stream that is refused late",
    "failed",
    async function* () {
      yield text;
      throw new Refusal("no", { status: 503 });
    },
    stream,
  ],
  [
    "a stream without its last message",
    "failed",
    async function* () {
      yield text;
    },
    stream,
  ],
  [
    "a channel that its client closes",
    "done",
    async (_: unknown, on: AsyncIterable<unknown> & { send(message: object): void }) => {
      on.send({ type: "initial_state", files: [], activeFile: null });
      for await (const _ of on);
    },
    channel,
  ],
  [
    "a channel whose connection is cut for good",
    "gone",
    async (_: unknown, on: AsyncIterable<unknown> & { send(message: object): void }) => {
      on.send({ type: "initial_state", files: [], activeFile: null });
      for await (const _ of on);
    },
    losing,
  ],
  [
    "a channel whose connection is cut for good, and whose handler waits for its signal",
    "gone",
    async (_: unknown, on: { send(message: object): void }, { signal }: { signal: AbortSignal }) => {
      on.send({ type: "initial_state", files: [], activeFile: null });
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    losing,
  ],
  [
    "a channel whose handler is done",
    "done",
    async (_: unknown, on: { send(message: object): void }) =>
      on.send({ type: "initial_state", files: [], activeFile: null }),
    reading,
  ],
  [
    "a channel whose handler throws",
    "failed",
    async (_: unknown, on: { send(message: object): void }) => {
      on.send({ type: "initial_state", files: [], activeFile: null });
      throw new Error("bug");
    },
    reading,
  ],
];

describe.each([true, false])("with resume: %s", (resume) => {
  test.each(ENDS)("%s is %s", async (what, how, handler, talk) => {
    const ends: unknown[] = [];
    const hooks = { close: (_: unknown, end: string) => void ends.push(end) };
    const name = what.startsWith("a stream") ? "send" : "session";
    const contract = name === "send" ? foldGateway : based;
    const app = serve(
      contract as never,
      { [name]: handler } as never,
      { partial: true, hooks, onError: false, resume, grace: 500 } as never,
    );
    await talk(cuttable(app as App), resume).catch(() => {});
    await vi.waitFor(() => expect(ends.length).toBeGreaterThan(0));
    await vi.waitFor(() => expect((app as App).stats()).toMatchObject({ calls: 0 }));
    expect(ends).toEqual([how]);
  });
});
