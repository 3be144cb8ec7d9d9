import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract, AnyMessage, Refusal, Stream, StreamCall } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { expect, onTestFinished } from "vitest";
import type { Context } from "../src/call.js";
import type { Called } from "../src/hooks.js";
import { ledger } from "../src/ledger.js";
import { LIMITS } from "../src/limits.js";
import { produce } from "../src/stream/produce.js";

export const text = (word: string) => ({ type: "text", text: word });
export const done = { type: "done", full_response: "" };
export const block = (event: string, data: object, id = "") =>
  `event: ${event}\n${id}data: ${JSON.stringify(data)}\n\n`;

/** The handler's context. */
export type MakingCall = StreamCall<AnyMessage, Record<string, AnyMessage>>;

export interface Making {
  readonly handler: (input: unknown, call: MakingCall) => unknown;
  /** What the contract says of the stream. */
  readonly stream?: Partial<Stream>;
  readonly message?: (type: string) => Refusal | undefined;
  /** What the app's profile adds to a message. */
  readonly profiles?: AnyContract["profiles"];
}

/** A stream of a handler that a test is, with a heartbeat of a second, and queues of a hundred characters. */
export function making({ handler, stream = {}, message = () => undefined, profiles }: Making) {
  const root = Scope.open((error) => {
    throw error;
  });
  onTestFinished(() => root.close());
  const scope = root.child("streams");
  const events: unknown[] = [];
  const plain = foldGateway as unknown as Context["contract"];
  const { send } = plain.operations;
  const described = { ...send!.answer.stream!, ...stream };
  const contract = {
    ...plain,
    ...(profiles && { profiles }),
    operations: { send: { ...send!, answer: { ...send!.answer, stream: described } } },
  };
  const limits = { ...LIMITS, heartbeat: 1000, maxQueued: 100 };
  const context = {
    contract,
    options: profiles ? { profile: "own" } : {},
    limits,
    ownerOf: () => "me",
    ledger: ledger(limits, root),
    handlers: { send: handler },
    callbacks: {
      message: (_: unknown, { type }: { readonly type: string }, from: string) => {
        events.push(`${from} ${type}`);
        return message(type);
      },
      open: () => events.push("open"),
      close: (_: unknown, how: string) => events.push(how),
      refuse: (_: unknown, { status }: Refusal, cause: unknown, operation: string) =>
        events.push(["refuse", status, (cause as Error).message, operation]),
      report: (error: Error, ...where: unknown[]) => events.push(["report", error.message, ...where]),
    },
  } as unknown as Context;
  const called = { operation: "send", input: { content: "x" } } as unknown as Called;
  const making = produce(context, called, scope);
  making.catch(() => {});
  return { making, scope, events };
}

/** All blocks of a stream, and how it went. */
export async function read(of: Making, id?: (seq: number) => string) {
  const { making: made, scope, events } = making(of);
  const production = await made;
  const blocks = production.blocks(id);
  const got: string[] = [];
  for (let step = await blocks.next(); !step.done; step = await blocks.next()) got.push(...step.value);
  // Nothing comes after the end.
  expect(await blocks.next()).toEqual({ done: true, value: undefined });
  scope.close();
  return { got, events, production };
}
