import type { Contract, Side } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import { OpenAsks } from "./exchange.js";

/** Refuses what a peer may not ask while another of its asks is open. */
export class Busy {
  readonly #asks: OpenAsks;
  readonly #fault: (name: string) => AnyMessage;

  /** Counts the open asks of `peer`. `fault` makes the refusal of an exchange, by the name that its `busy` has. */
  constructor(contract: Contract, peer: Side, fault: (name: string) => AnyMessage) {
    this.#asks = new OpenAsks(contract, peer);
    this.#fault = fault;
  }

  /** Notes a message of the peer. Returns the refusal to send where it asks too early. */
  received(message: AnyMessage): AnyMessage | undefined {
    const name = this.#asks.exchangeOf(message)?.busy;
    if (name !== undefined && this.#asks.isBusy(name)) return this.#fault(name);
    this.#asks.open(message);
  }

  /** Notes a message of this side, which may answer an ask. */
  sent(message: AnyMessage): void {
    this.#asks.answer(message);
  }
}
