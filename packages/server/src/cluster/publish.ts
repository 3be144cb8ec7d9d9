import { Disconnected } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";
import type { LastCalls } from "../shutdown.js";
import type { PubSub } from "./pubsub.js";

/** Pub/sub as the cluster's parts share it: each call has a timeout, and failures are reported. */
export interface Wiring {
  readonly pubSub: PubSub;
  readonly limits: Limits;
  readonly root: Scope;
  readonly lastCalls: LastCalls;
  /** Reports the first of several failures in a row, so that an outage is one report. */
  report(error: unknown): void;
  /** Publishes a message as JSON. Rejects with `Disconnected` when pub/sub fails or takes too long. */
  publish(topic: string, message: object, scope?: Scope): Promise<number>;
  /** Publishes a message that may be lost, because it is repeated or harmless to miss. */
  mention(topic: string, message: object): void;
  /** Publishes until pub/sub takes it, and resolves then, or the scope closes. */
  insist(topic: string, message: object, scope: Scope): Promise<void>;
}

/** The wait before something is tried again: doubled each time, up to the cap. */
export const RETRY = { first: 100, cap: 5000 };

/** Wraps a failure of pub/sub as an error after which a caller may retry. */
export function failureOf(error: unknown): Disconnected {
  if (error instanceof Disconnected) return error;
  return new Disconnected("pub/sub failed", { code: "unreachable", retryable: true, cause: error });
}

export function wiring(
  pubSub: PubSub,
  limits: Limits,
  root: Scope,
  reportTo: (error: unknown, source: string) => void,
  lastCalls: LastCalls,
): Wiring {
  let failing = false;

  function report(error: unknown): void {
    if (!failing && !root.closed) reportTo(error, "pub/sub");
    failing = true;
  }

  async function publish(topic: string, message: object, scope = root): Promise<number> {
    try {
      const receivers = await within(scope, limits.storeWithin, "pub/sub", () =>
        pubSub.publish(topic, JSON.stringify(message)),
      );
      failing = false;
      return receivers;
    } catch (error) {
      if (!scope.closed) report(error);
      throw failureOf(error);
    }
  }

  function insist(topic: string, message: object, scope: Scope, onTaken: () => void, wait = RETRY.first): void {
    if (scope.closed) return;
    publish(topic, message, scope).then(onTaken, () => {
      scope.timeout(wait, () => insist(topic, message, scope, onTaken, Math.min(RETRY.cap, 2 * wait)));
    });
  }

  return {
    pubSub,
    limits,
    root,
    lastCalls,
    report,
    publish,
    insist: (topic, message, scope) => new Promise((resolve) => insist(topic, message, scope, resolve)),
    mention(topic, message) {
      if (!root.closed) publish(topic, message).catch(() => {});
    },
  };
}
