import type { Contract, Side } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import { OpenAsks } from "./exchange.js";

/** Refuses a peer's asks that exclude another of its open asks. */
export class Busy {
  readonly #asks: OpenAsks;
  readonly #fault: (name: string) => AnyMessage;

  /** Tracks the open asks of `peer`. `fault` creates the refusal from the name in the exchange's `busy`. */
  constructor(contract: Contract, peer: Side, fault: (name: string) => AnyMessage) {
    this.#asks = new OpenAsks(contract, peer);
    this.#fault = fault;
  }

  /** Records a message of the peer. Returns the refusal to send when it asks too early. */
  received(message: AnyMessage): AnyMessage | undefined {
    const name = this.#asks.exchangeOf(message)?.busy;
    if (name !== undefined && this.#asks.isBusy(name)) return this.#fault(name);
    this.#asks.open(message);
  }

  /** Records a message of this side, which may answer an ask. */
  sent(message: AnyMessage): void {
    this.#asks.answer(message);
  }
}
