import type { Scope } from "@parlance/wire/scope";
import type { Wiring } from "./publish.js";
import { subscribe } from "./subscriptions.js";

/** A session that this server is subscribed to. */
export interface Followed {
  readonly scope: Scope;
}

/** The sessions that this server is subscribed to. */
export interface FollowedSessions {
  /** Subscribes to a session. False where it is subscribed already. */
  follow(key: string): boolean;
  /** Unsubscribes after `lingerFor`, because a decision may come late. */
  unsubscribe(key: string): void;
  /** Cancels a pending `unsubscribe`. */
  stay(key: string): void;
  get(key: string): Followed | undefined;
  keys(): Iterable<string>;
}

export interface FollowOptions<M> {
  readonly topicOf: (key: string) => string;
  readonly receive: (message: M) => void;
  /** Called when a session's packets are received, and each time that some may have been missed. */
  readonly introduce: (key: string) => void;
  /** Resolves when answers to an introduction can be received. */
  readonly ready: () => Promise<void>;
}

export function followSessions<M>(
  wiring: Wiring,
  { topicOf, receive, introduce, ready }: FollowOptions<M>,
): FollowedSessions {
  const { root, limits } = wiring;
  const sessions = new Map<string, Followed & { stay: () => void; subscribed: boolean }>();

  function stay(key: string): void {
    sessions.get(key)?.stay();
  }

  return {
    stay,
    follow(key) {
      const known = sessions.get(key);
      if (known) {
        known.stay();
        // Its introduction is still to come.
        return !known.subscribed;
      }
      if (root.closed) return true;
      const scope = root.child();
      const session = { scope, stay: () => {}, subscribed: false };
      sessions.set(key, session);
      scope.add(() => {
        if (sessions.get(key) === session) sessions.delete(key);
      });
      const introduced = (): void => {
        session.subscribed = true;
        introduce(key);
      };
      // A failure is reported and retried by `subscribe`, which then introduces the session.
      Promise.all([
        ready().catch(() => {}),
        subscribe(wiring, { topic: topicOf(key), scope, receive, onInterrupted: introduced }),
      ]).then(introduced, () => {});
      return true;
    },
    unsubscribe(key) {
      const session = sessions.get(key);
      if (!session) return;
      session.stay();
      session.stay = session.scope.timeout(limits.lingerFor, () => session.scope.close());
    },
    get: (key) => sessions.get(key),
    keys: () => sessions.keys(),
  };
}
