import { emacsAgent } from "@parlance/protocols/emacs-agent";
import type { AnyContract, AnyMessage, Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { expect, onTestFinished } from "vitest";
import { ledger } from "../src/ledger.js";
import { LIMITS, type Limits } from "../src/limits.js";
import type { Sent, Subscriber } from "../src/ports.js";
import { LocalSessions } from "../src/session/local.js";

/** The sessions of an app, and readers that note what they get. */
export function sessionsOf(contract: unknown = emacsAgent, limits: Partial<Limits> = {}) {
  const failures: unknown[] = [];
  const root = Scope.open((error) => failures.push(error));
  onTestFinished(() => {
    root.close();
    expect(failures).toEqual([]);
  });
  const idle: string[] = [];
  const reported: unknown[] = [];
  const all = { ...LIMITS, ...limits };
  const sessions = new LocalSessions({
    contract: contract as AnyContract,
    limits: all,
    root,
    ledger: ledger(all, root),
    report: (error) => reported.push(error),
    onIdle: (key) => idle.push(key),
  });
  const reader = (key: string, more: Partial<Subscriber> = {}) => {
    const scope = root.child();
    const sents: Sent[] = [];
    const ends: unknown[] = [];
    const subscriber: Subscriber = {
      send(sent) {
        sents.push(sent);
        return more.send?.(sent);
      },
      end: (error) => void ends.push(error ?? "over"),
      ...(more.ask && { ask: more.ask }),
    };
    sessions.subscribe(key, subscriber, scope);
    return { scope, sents, ends, subscriber, texts: () => sents.map(({ message }) => textOf(message)) };
  };
  const stats = () => {
    const { sessions, asks, queued, timers } = root.stats();
    return { sessions, asks, queued, timers };
  };
  return { root, sessions, idle, reported, reader, stats };
}
export const NOTHING = { sessions: 0, asks: 0, queued: 0, timers: 0 };
export const textOf = (message: AnyMessage & { content?: string; tool_call_id?: string }) =>
  message.content ?? message.tool_call_id ?? message.type;
export const approve = (tool_call_id: string) => ({ type: "approve", tool_call_id }) as unknown as AnyMessage;
export const reject = (tool_call_id: string) => ({ type: "reject", tool_call_id }) as unknown as AnyMessage;
export const statusOf = (run: () => unknown): number | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as Refusal).status;
  }
};
export const outcome = async (promise: Promise<unknown>) => {
  const open = new Promise((resolve) => setImmediate(resolve, "open"));
  return Promise.race([promise.catch((error: unknown) => error), open]);
};
