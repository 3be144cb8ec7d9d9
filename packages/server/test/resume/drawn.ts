import type { Fault } from "./proxy.js";

export const KINDS: readonly Fault["kind"][] = ["cut", "reset", "half-close", "stall", "delay", "duplicate"];

/** Draws the faults of up to six connections. */
export function drawFaults(next: () => number, kinds: readonly Fault["kind"][]): (Fault | undefined)[] {
  const below = (limit: number) => Math.floor(next() * limit);
  return Array.from({ length: 1 + below(6) }, () => {
    const [kind, at, of] = [kinds[below(kinds.length)]!, below(1200), next() < 0.75 ? "server" : "client"] as const;
    return next() < 0.2 ? undefined : { kind, at: of === "server" ? at : at >> 1, of, milliseconds: below(40) };
  });
}
