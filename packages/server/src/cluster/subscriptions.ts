import { type Scope, within } from "@parlance/wire/scope";
import { invoke } from "../callback.js";
import { failureOf, RETRY, type Wiring } from "./publish.js";

export interface SubscribeOptions<M> {
  readonly topic: string;
  /** Owns the subscription: it ends with the scope. */
  readonly scope: Scope;
  readonly receive: (message: M) => void;
  /** Called whenever messages of so many milliseconds may be missing, also after a first subscription that took several tries. */
  readonly onInterrupted?: (missing: number) => void;
}

/**
 * Subscribes to a topic until the scope closes. Rejects when the first try fails, and goes on trying: pub/sub that is down now is
 * used once it is back.
 */
export function subscribe<M>(wiring: Wiring, options: SubscribeOptions<M>): Promise<void> {
  const { pubSub, limits, report } = wiring;
  const { topic, scope, onInterrupted } = options;

  function receive(text: string): void {
    if (scope.closed) return;
    try {
      options.receive(JSON.parse(text));
    } catch (error) {
      report(error);
    }
  }
  const interrupted = (missing = 0): void => {
    if (!scope.closed) onInterrupted?.(missing);
  };
  const began = performance.now();

  async function attempt(): Promise<void> {
    const own = (unsubscribe: () => void): void => {
      scope.add(() => invoke(unsubscribe, report), "subscriptions");
    };
    // Drops a subscription that succeeds too late, because another try is running.
    own(
      await within(
        scope,
        limits.storeWithin,
        "subscribing",
        () => pubSub.subscribe(topic, receive, interrupted),
        (late) => late(),
      ),
    );
  }

  function retry(wait: number): void {
    scope.timeout(wait, () => {
      attempt().then(
        () => interrupted(performance.now() - began),
        () => retry(Math.min(RETRY.cap, 2 * wait)),
      );
    });
  }

  return attempt().catch((error) => {
    if (!scope.closed) {
      report(error);
      retry(RETRY.first);
    }
    throw failureOf(error);
  });
}
