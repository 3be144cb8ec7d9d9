import type { Contract } from "@parlance/wire";
import { useEffect, useMemo, useRef, useState } from "react";

export interface AskState<M> {
  readonly message: M;
  /** `failed`: the decision did not reach the agent, and may be sent again. */
  readonly status: "open" | "deciding" | "failed";
  readonly error: unknown;
  /** Sends the decision, by an operation or a channel. The ask is gone when it resolves, or is refused with 409: another decision was first. */
  readonly decide: (send: () => unknown) => Promise<void>;
}

type Outcome = { readonly status: "deciding" | "decided" } | { readonly status: "failed"; readonly error: unknown };

/**
 * Finds the asks of one type that this component has not decided, oldest first.
 *
 * @example
 * ```tsx
 * const asks = useAsks(coven, turn.messages, "tool_approval");
 * return asks.map(({ message, decide }) => (
 *   <button key={message.id} onClick={() => decide(() => agent.approveTool({ agent_id: "1", tool_id: message.id, approved: true }))}>
 *     {message.name}
 *   </button>
 * ));
 * ```
 * @throws `TypeError` for a type that is not an ask of the contract
 */
export function useAsks<M extends { readonly type: string }, T extends M["type"]>(
  contract: Pick<Contract, "name" | "exchanges">,
  messages: readonly M[],
  type: T,
): readonly AskState<Extract<M, { readonly type: T }>>[] {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<M, Outcome>>(() => new Map());
  const isMounted = useRef(false);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  const asks = useMemo(() => asksAmong(contract, messages, type), [contract, messages, type]);
  return asks.flatMap((message): AskState<Extract<M, { readonly type: T }>>[] => {
    const outcome = outcomes.get(message);
    if (outcome?.status === "decided") return [];
    const note = (outcome: Outcome): void => {
      if (isMounted.current) setOutcomes((outcomes) => new Map(outcomes).set(message, outcome));
    };
    async function decide(send: () => unknown): Promise<void> {
      note({ status: "deciding" });
      try {
        await send();
        note({ status: "decided" });
      } catch (error) {
        const isLate = (error as { readonly status?: unknown } | null)?.status === 409;
        note(isLate ? { status: "decided" } : { status: "failed", error });
      }
    }
    const error = outcome?.status === "failed" ? outcome.error : undefined;
    return [{ message, status: outcome?.status ?? "open", error, decide }];
  });
}

function asksAmong<M extends { readonly type: string }, T extends M["type"]>(
  { name, exchanges = [] }: Pick<Contract, "name" | "exchanges">,
  messages: readonly M[],
  type: T,
): Extract<M, { readonly type: T }>[] {
  const asks = exchanges.filter(({ by }) => by === "server");
  const whens = asks.filter(({ ask }) => ask === type).map(({ when = {} }) => Object.entries(when));
  if (whens.length === 0) {
    const known = asks.map(({ ask }) => ask).join(", ") || "none";
    throw new TypeError(`${name} has no ask ${type} by its server: it has ${known}`);
  }
  const isAsk = (message: M): message is Extract<M, { readonly type: T }> => {
    const fields = message as unknown as Readonly<Record<string, unknown>>;
    return message.type === type && whens.some((when) => when.every(([key, value]) => fields[key] === value));
  };
  return messages.filter(isAsk);
}
