import { vi } from "vitest";
import type { RedisClient, RedisConnection } from "../src/client.js";

// A Redis client without a Redis: it notes what it is asked, and a test says what the answers are.

/** A connection that subscribes. */
export interface FakeConnection {
  /** What it was asked, in order. */
  readonly asked: readonly (readonly unknown[])[];
  emit(event: string, ...given: readonly string[]): void;
}

export interface FakeNode {
  readonly node: RedisConnection;
  /** The connections that were made from it. */
  readonly connections: readonly FakeConnection[];
}

/** Answers a subscription, or the question of a node for its name. */
export type Answering = (command: string, channels: readonly unknown[]) => unknown;

export function fakeNode(answering: Answering = () => "OK"): FakeNode {
  const connections: FakeConnection[] = [];
  const duplicate = () => {
    const asked: unknown[][] = [];
    const on: Record<string, (...given: readonly string[]) => void> = {};
    const ask =
      (name: string) =>
      async (...given: readonly unknown[]) => {
        asked.push([name, ...given]);
        return answering(name, given);
      };
    connections.push({ asked, emit: (event, ...given) => on[event]?.(...given) });
    return {
      on: (event: string, listener: () => void) => {
        on[event] = listener;
      },
      ...Object.fromEntries(
        ["ping", "subscribe", "unsubscribe", "ssubscribe", "sunsubscribe"].map((name) => [name, ask(name)]),
      ),
      disconnect: () => void asked.push(["disconnect"]),
    };
  };
  const cluster = vi.fn(async (subcommand: string) => answering("cluster", [subcommand]));
  return { node: { status: "ready", duplicate, cluster } as unknown as RedisConnection, connections };
}

/** A client, with the scripts that were defined on it and the calls of them. `answers` has the answer of each script. */
export function fakeClient(
  answers: Readonly<Record<string, (...words: readonly unknown[]) => unknown>> = {},
  more: object = {},
) {
  const scripts = new Map<string, { readonly lua: string; readonly numberOfKeys: number }>();
  const sent: unknown[][] = [];
  const client: Record<string, unknown> = {
    status: "ready",
    defineCommand(name: string, definition: { readonly lua: string; readonly numberOfKeys: number }) {
      scripts.set(name, definition);
      client[name] = async (...words: readonly unknown[]) => {
        sent.push([name, ...words]);
        return answers[name] ? answers[name](...words) : 1;
      };
    },
    ...more,
  };
  return { redis: client as unknown as RedisClient, scripts, sent };
}

/** What became of a promise so far: `open`, its value, or its error. */
export function outcomeOf(promise: Promise<unknown>): { outcome: unknown } {
  const seen: { outcome: unknown } = { outcome: "open" };
  promise.then(
    (value) => {
      seen.outcome = value;
    },
    (error) => {
      seen.outcome = error;
    },
  );
  return seen;
}

export const reply = (message: string): Error => Object.assign(new Error(message), { name: "ReplyError" });
export const never = (): Promise<never> => new Promise(() => {});
