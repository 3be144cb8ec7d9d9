import type { Contract, Side } from "./contract/contract.js";
import type { AnyMessage } from "./contract/schema.js";
import { OpenAsks } from "./exchange.js";

/** Refuses a peer's asks that exclude another of its open asks. */
export class Busy {
  readonly #asks: OpenAsks;
  /** The refusals of the exchanges that have an open ask. */
  readonly #busy = new Set<string | undefined>();
  readonly #fault: (name: string) => AnyMessage;

  /** Tracks the open asks of `peer`. `fault` creates the refusal from the name in the exchange's `busy`. */
  constructor(contract: Contract, peer: Side, fault: (name: string) => AnyMessage) {
    this.#asks = new OpenAsks(contract, peer);
    this.#fault = fault;
  }

  /** Records a message of the peer. Returns the refusal to send when it asks too early. */
  received(message: AnyMessage): AnyMessage | undefined {
    const name = this.#asks.exchangeOf(message)?.busy;
    if (name !== undefined && this.#busy.has(name)) return this.#fault(name);
    if (this.#asks.open(message)) this.#busy.add(name);
  }

  /** Records a message of this side, which may answer an ask. */
  sent(message: AnyMessage): void {
    const answered = this.#asks.answer(message);
    if (answered && !answered.partial) this.#busy.delete(answered.ask.exchange.busy);
  }
}
