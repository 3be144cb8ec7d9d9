import { Disconnected, newKey } from "@parlance/wire";
import { type Scope, until, within } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";

/** The wait before a query is repeated while servers may not receive yet. */
const REPEAT_AFTER = 100;

/** Queries to all servers that are subscribed to a topic: which of them has this? */
export interface Query<A> {
  /**
   * `publish` sends a query with its id, and resolves to the number of servers that it reached. Resolves to the first answer, to undefined when
   * all have none, or to `unanswered` when some do not answer in time. After an interruption of pub/sub the query is repeated until all servers
   * surely receive it. `isMissing` says whether they may have been too few.
   */
  ask(publish: (id: string) => Promise<number>, isMissing?: IsMissing): Promise<A | undefined>;
  /** Publishes a query once, and does not repeat it. */
  askOnce(publish: (id: string) => Promise<number>): Promise<A | undefined>;
  /** Notes the answer of a server; undefined means that it has nothing. */
  note(id: string, answer: A | undefined, server?: string): void;
  /** Whether pub/sub was interrupted lately: other servers may not receive queries yet. */
  unsure(): boolean;
  /** Notes that pub/sub was interrupted and is back. */
  interrupted(): void;
}

/** Whether servers were not reached that may have an answer, by those that have answered. */
type IsMissing = (answered: ReadonlySet<string>) => boolean;

interface Open<A> {
  answers: number;
  readonly answered: Set<string>;
  /** Servers that were reached; unknown until the query is published. */
  reached: number;
  resolve(answer: A | undefined): void;
}

/** `unanswered` is the answer where somebody may have another one, and `timedOut` where servers were reached that did not answer in time. */
export function query<A>(
  { queryWithin, storeWithin, interruptedFor }: Limits,
  root: Scope,
  unanswered: A,
  timedOut: A | undefined = unanswered,
): Query<A> {
  const queries = new Map<string, Open<A>>();
  let interruptedAt = Number.NEGATIVE_INFINITY;

  async function askOnce(
    publish: (id: string) => Promise<number>,
    isMissing: IsMissing = () => false,
  ): Promise<A | undefined> {
    const id = newKey();
    const scope = root.child();
    try {
      const answer = new Promise<A | undefined>((resolve, reject) => {
        const answered = new Set<string>();
        const settle = (found: A | undefined): void =>
          resolve(found === undefined && isMissing(answered) ? unanswered : found);
        queries.set(id, { answers: 0, answered, reached: Number.POSITIVE_INFINITY, resolve: settle });
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
        scope.timeout(queryWithin, () => open.resolve(timedOut));
      }
      return await answer;
    } finally {
      scope.close();
    }
  }

  const unsure = (): boolean => performance.now() - interruptedAt <= interruptedFor;

  return {
    askOnce: (publish) => askOnce(publish),
    unsure,
    async ask(publish, isMissing) {
      for (;;) {
        const answer = await askOnce(publish, isMissing);
        const isAnswered = answer !== undefined && answer !== unanswered;
        if (isAnswered || !unsure()) return answer;
        await until(root.child(), REPEAT_AFTER, new Promise(() => {}));
      }
    },
    note(id, answer, server) {
      const open = queries.get(id);
      if (!open) return;
      open.answers++;
      if (server !== undefined) open.answered.add(server);
      if (answer !== undefined || open.answers === open.reached) open.resolve(answer);
    },
    interrupted() {
      interruptedAt = performance.now();
    },
  };
}

export function unanswered(what: string): Disconnected {
  return new Disconnected(`a server did not answer for ${what}`, { code: "timeout", retryable: true });
}
