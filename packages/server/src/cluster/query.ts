import { Disconnected, newKey } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";

/** The wait before a query is repeated while servers may not receive yet. */
const REPEAT_AFTER = 100;

/** Queries to all servers that are subscribed to a topic: which of them has this? */
export interface Query<A> {
  /**
   * `publish` sends a query with its id, and resolves to the number of servers that it reached. Resolves to the first answer, to undefined when
   * all have none, or to `unanswered` when some do not answer in time. After an interruption of pub/sub the query is repeated until all servers
   * surely receive it.
   */
  ask(publish: (id: string) => Promise<number>): Promise<A | undefined>;
  /** Publishes a query once, and does not repeat it. */
  askOnce(publish: (id: string) => Promise<number>): Promise<A | undefined>;
  /** Notes an answer; undefined means that the server has nothing. */
  note(id: string, answer: A | undefined): void;
  /** Whether pub/sub was interrupted lately: other servers may not receive queries yet. */
  unsure(): boolean;
  /** Notes that pub/sub was interrupted and is back. */
  interrupted(): void;
}

interface Open<A> {
  answers: number;
  /** Servers that were reached; unknown until the query is published. */
  reached: number;
  resolve(answer: A | undefined): void;
}

export function query<A>(
  { queryWithin, storeWithin, interruptedFor }: Limits,
  root: Scope,
  unanswered: A | undefined,
): Query<A> {
  const queries = new Map<string, Open<A>>();
  let interruptedAt = Number.NEGATIVE_INFINITY;

  async function askOnce(publish: (id: string) => Promise<number>): Promise<A | undefined> {
    const id = newKey();
    const scope = root.child();
    try {
      const answer = new Promise<A | undefined>((resolve, reject) => {
        queries.set(id, { answers: 0, reached: Number.POSITIVE_INFINITY, resolve });
        scope.add(() => {
          queries.delete(id);
          reject(scope.reason ?? new DOMException("the query is over", "AbortError"));
        });
      });
      answer.catch(() => {});
      const reached = await within(scope, storeWithin, "pub/sub", () => publish(id));
      const open = queries.get(id);
      if (open) {
        open.reached = reached;
        if (open.answers === reached) open.resolve(undefined);
        scope.timeout(queryWithin, () => open.resolve(unanswered));
      }
      return await answer;
    } finally {
      scope.close();
    }
  }

  const unsure = (): boolean => performance.now() - interruptedAt <= interruptedFor;

  return {
    askOnce,
    unsure,
    async ask(publish) {
      for (;;) {
        const answer = await askOnce(publish);
        const isAnswered = answer !== undefined && answer !== unanswered;
        if (isAnswered || !unsure()) return answer;
        await new Promise<void>((resolve, reject) => {
          root.timeout(REPEAT_AFTER, resolve);
          if (root.closed) reject(root.reason);
        });
      }
    },
    note(id, answer) {
      const open = queries.get(id);
      if (!open) return;
      open.answers++;
      if (answer !== undefined || open.answers === open.reached) open.resolve(answer);
    },
    interrupted() {
      interruptedAt = performance.now();
    },
  };
}

export function unanswered(key: string): Disconnected {
  return new Disconnected(`a server did not answer for session ${key}`, { code: "timeout", retryable: true });
}
