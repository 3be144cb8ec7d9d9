import type { AnyContract, AnyMessage } from "@parlance/wire";
import type { Waiting } from "@parlance/wire/link";

/** Settled asks, kept to reject late answers with 409. The oldest are forgotten first. */
export interface SettledAsks {
  remember(session: string, ask: Waiting): void;
  /** Whether a reply would have answered one of them. */
  has(session: string, reply: AnyMessage): boolean;
}

export function settledAsks({ exchanges = [] }: AnyContract, limit: number): SettledAsks {
  const names = new Set<string>();
  /** The asks that a reply could have answered. */
  const asksOf = (reply: AnyMessage): string[] =>
    exchanges.flatMap(({ ask, key, answers }) =>
      answers
        .filter((answer) => answer.operation === reply.type)
        .map((answer) => `${ask} ${(reply as unknown as Record<string, unknown>)[answer.key ?? key ?? ""]}`),
    );
  return {
    remember(session: string, { exchange, key }: Waiting): void {
      names.add(`${session} ${exchange.ask} ${key}`);
      if (names.size > limit) names.delete(names.values().next().value!);
    },
    has: (session: string, reply: AnyMessage): boolean => asksOf(reply).some((ask) => names.has(`${session} ${ask}`)),
  };
}
