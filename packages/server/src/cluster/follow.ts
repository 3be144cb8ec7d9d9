import { type Scope, until } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";
import type { Sent } from "../ports.js";
import type { Wiring } from "./publish.js";
import { subscribe } from "./subscriptions.js";

/** A session that this server is subscribed to. */
export interface Followed {
  readonly scope: Scope;
  /** This server knows how often each had ended the session before it came, unless pub/sub has failed. */
  readonly joined: boolean;
  /** Resolves once the others know of this server and its readers, or do not within a limit. */
  joining: Promise<unknown>;
  /** The other servers that are known to follow it, or to have followed it. */
  readonly servers: Set<string>;
  /** How often each server has ended the session, as a version vector. */
  readonly ends: Map<string, number>;
  /** When pub/sub took the last end of this server: never before the first one, and in the future until it does. */
  saidAt: number;
  /** What no reader had confirmed when the session ended here. */
  rest?: Rest;
}

/** What a server still has for the readers of a session that has ended. */
export interface Rest {
  /** The last confirmed place before it. */
  readonly begin: number;
  readonly sent: readonly Sent[];
}

/** The sessions that this server is subscribed to. */
export interface FollowedSessions {
  /** Subscribes to a session, unless it is subscribed already. */
  follow(key: string): Followed;
  /** Unsubscribes after `lingerFor`: a decision may come late, or a reader that has missed the end. */
  unsubscribe(key: string): void;
  get(key: string): Followed | undefined;
  keys(): Iterable<string>;
}

export interface FollowOptions<M> {
  readonly topicOf: (key: string) => string;
  readonly receive: (message: M) => void;
  /** Asks the other servers what they know of a session. Called once its packets are received. */
  readonly ask: (key: string) => Promise<unknown>;
  /**
   * Says what this server knows, each time that packets may have been missed, and when it has joined; `asked` says that they know of it then.
   * Resolves once pub/sub has taken it.
   */
  readonly introduce: (key: string, asked: boolean) => Promise<void>;
  /** Resolves when answers can be received. */
  readonly ready: () => Promise<void>;
  /** Ends the readers of a session that may have ended so long ago that no server remembers it. */
  readonly lose: (key: string) => void;
}

/** How long the end of a session is remembered: a server that is interrupted now has to learn of it later. */
export function rememberFor({ lingerFor, interruptedFor }: Limits): number {
  return Math.max(lingerFor, 2 * interruptedFor);
}

/** Runs a function after a time in which every server could learn of this server's last end. Returns a function that cancels it. */
export function onceSaid(session: Followed, after: number, run: () => void): () => void {
  let cancel = session.scope.timeout(after, check);
  function check(): void {
    const left = after - (performance.now() - session.saidAt);
    if (left > 0) cancel = session.scope.timeout(Math.min(left, after), check);
    else run();
  }
  return () => cancel();
}

export function followSessions<M>(
  wiring: Wiring,
  { topicOf, receive, ask, introduce, ready, lose }: FollowOptions<M>,
): FollowedSessions {
  const { root, limits } = wiring;
  const sessions = new Map<string, Followed & { stay: () => void; joined: boolean }>();

  return {
    follow(key) {
      const known = sessions.get(key);
      known?.stay();
      if (known) return known;
      const scope = root.child();
      const session = {
        scope,
        stay: () => {},
        joined: false,
        joining: Promise.resolve() as Promise<unknown>,
        servers: new Set<string>(),
        ends: new Map<string, number>(),
        saidAt: Number.NEGATIVE_INFINITY,
      };
      sessions.set(key, session);
      scope.add(() => {
        if (sessions.get(key) === session) sessions.delete(key);
      });
      // A failure is reported and retried by `subscribe`, which then introduces the session.
      const onInterrupted = (missing: number): void => {
        // Half, because what is missing may have begun before anyone noticed.
        if (missing > rememberFor(limits) / 2) lose(key);
        void introduce(key, false);
      };
      session.joining = Promise.all([
        ready().catch(() => {}),
        subscribe(wiring, { topic: topicOf(key), scope, receive, onInterrupted }),
      ]).then(
        async () => {
          const asked = await ask(key).then(
            () => true,
            () => false,
          );
          session.joined = true;
          await until(scope.child(), limits.interruptedFor, introduce(key, asked));
        },
        () => {
          session.joined = true;
        },
      );
      return session;
    },
    unsubscribe(key) {
      const session = sessions.get(key);
      if (!session) return;
      session.stay();
      const linger = session.ends.size === 0 ? limits.lingerFor : rememberFor(limits);
      session.stay = onceSaid(session, linger, () => session.scope.close());
    },
    get: (key) => sessions.get(key),
    keys: () => sessions.keys(),
  };
}
