/** What the fold-gateway document asks of a gateway and of its readers, beside its messages. */

/**
 * Returns a chooser that takes agents in turn: "If `agent_id` is omitted, the gateway routes to an available agent
 * (round-robin)". Each call is given the agents connected now and returns one, or undefined where there is none. While the
 * list stays the same, n calls choose each of n agents once; when it changes, the turn passes to the agent after the one
 * chosen last, or to the one that took its place.
 */
export function roundRobin<Agent extends { readonly id: string }>(): (agents: readonly Agent[]) => Agent | undefined {
  let last: { readonly id: string; readonly index: number } | undefined;
  return (agents) => {
    if (agents.length === 0) return undefined;
    const place = last === undefined ? -1 : agents.findIndex(({ id }) => id === last!.id);
    const next = place >= 0 ? place + 1 : (last?.index ?? 0);
    const index = next % agents.length;
    const agent = agents[index]!;
    last = { id: agent.id, index };
    return agent;
  };
}

/** How to turn the text on a screen into another: keep the first `keep` UTF-16 code units, and put `text` after them. */
export interface TextChange {
  readonly keep: number;
  readonly text: string;
}

/**
 * What a reader that has shown the `text` events must do when `done` comes: a busy gateway drops `text` events, and
 * `done.full_response` is authoritative. Where nothing was dropped, `text` is empty and everything is kept. So it is for an empty
 * `full_response`, which gateways send although they have streamed text.
 */
export function reconcile(shown: string, full: string): TextChange {
  if (full === "") return { keep: shown.length, text: "" };
  const most = Math.min(shown.length, full.length);
  let keep = 0;
  while (keep < most && shown.charCodeAt(keep) === full.charCodeAt(keep)) keep++;
  // Half of a surrogate pair is not text: the pair is written again as a whole.
  if (keep > 0 && isHighSurrogate(full.charCodeAt(keep - 1)) && keep < Math.max(shown.length, full.length)) keep--;
  return { keep, text: full.slice(keep) };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
