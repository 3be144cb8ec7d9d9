import type { Contract } from "@parlance/wire";
import { useMemo, useState } from "react";
import type { ChannelState } from "./channel.js";
import type { StreamStatus } from "./stream.js";

/** What asks: a stream of `useStream`, a channel of `useChannel`, or messages that are kept otherwise, whose asks stay open. */
export interface Asking<M> {
  readonly messages: readonly M[];
  readonly status?: StreamStatus | ChannelState<never, never, never>["status"];
}

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
 * Finds the asks of one type that are open and that this component has not decided, oldest first. They end with their stream or channel.
 *
 * @example
 * ```tsx
 * const asks = useAsks(coven, turn, "tool_approval");
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
  { messages, status = "open" }: Asking<M>,
  type: T,
): readonly AskState<Extract<M, { readonly type: T }>>[] {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<M, Outcome>>(() => new Map());
  const asks = useMemo(() => asksAmong(contract, messages, type), [contract, messages, type]);
  if (status !== "open" && status !== "streaming") return [];
  return asks.flatMap((message): AskState<Extract<M, { readonly type: T }>>[] => {
    const outcome = outcomes.get(message);
    if (outcome?.status === "decided") return [];
    const note = (outcome: Outcome): void => setOutcomes((outcomes) => new Map(outcomes).set(message, outcome));
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
