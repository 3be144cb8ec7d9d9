import type { Contract, Side } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import { OpenAsks } from "./exchange.js";

/** Refuses what a peer may not ask while another of its asks is open. */
export interface Busy {
  /** Notes a message of the peer. Returns the refusal to send where it asks too early. */
  received(message: AnyMessage): AnyMessage | undefined;
  /** Notes a message of this side, which may answer an ask. */
  sent(message: AnyMessage): void;
}

/** Counts the open asks of `peer`. `fault` makes the refusal of an exchange, by the name that its `busy` has. */
export function busy(contract: Contract, peer: Side, fault: (name: string) => AnyMessage): Busy {
  const asks = new OpenAsks(contract, peer);
  return {
    received(message) {
      const name = asks.exchangeOf(message)?.busy;
      if (name !== undefined && asks.list().some((ask) => ask.exchange.busy === name)) return fault(name);
      asks.open(message);
    },
    sent: (message) => void asks.answer(message),
  };
}
