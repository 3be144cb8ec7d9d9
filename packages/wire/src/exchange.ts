import type { Contract, Exchange, Reply, Side } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import type { JsonObject } from "./json.js";
import { matches } from "./reading.js";

/** An ask that waits for its answer. */
export interface Waiting {
  readonly message: AnyMessage;
  readonly exchange: Exchange;
  /** The key's value; undefined for an exchange by order. */
  readonly key: unknown;
  /** Called with the answer that settles it. */
  readonly settle?: ((answer: AnyMessage) => void) | undefined;
  /** Called when it can no longer be answered. */
  readonly fail?: ((error: unknown) => void) | undefined;
}

export interface Answered {
  readonly ask: Waiting;
  /** The answer settles a part only; the ask stays open. */
  readonly partial: boolean;
}

/** The open asks of one side of one conversation, in the order they were made. A reply that is an operation has the operation's name as its type. */
export class OpenAsks {
  readonly #contract: Contract;
  readonly #side: Side;
  #asks: Waiting[] = NONE;

  constructor(contract: Contract, side: Side) {
    this.#contract = contract;
    this.#side = side;
  }

  /** The exchange that a message begins, if it is an ask. */
  exchangeOf(message: AnyMessage): Exchange | undefined {
    return this.#contract.exchanges?.find(
      ({ by, ask, when = {} }) =>
        by === this.#side && ask === message.type && matches(message as AnyMessage & JsonObject, when),
    );
  }

  /** Notes an ask. Returns undefined for a message that asks nothing. */
  open(message: AnyMessage, on?: Pick<Waiting, "settle" | "fail">): Waiting | undefined {
    const exchange = this.exchangeOf(message);
    if (!exchange) return undefined;
    const key = exchange.key === undefined ? undefined : (message as AnyMessage & JsonObject)[exchange.key];
    const ask: Waiting = { message, exchange, key, ...on };
    if (this.#asks === NONE) this.#asks = [ask];
    else this.#asks.push(ask);
    return ask;
  }

  /** Finds the ask that a message or an operation answers, and closes it unless the answer is partial. It is not settled here. */
  answer(reply: AnyMessage): Answered | undefined {
    const found = this.find(reply);
    if (found && !found.partial) this.withdraw(found.ask);
    return found;
  }

  /** The same without closing it. */
  find(reply: AnyMessage): Answered | undefined {
    if (this.#asks === NONE) return undefined;
    const fields = reply as AnyMessage & JsonObject;
    const able = this.#asks.flatMap((ask) => {
      const answers = ask.exchange.answers.filter((answer) => (answer.message ?? answer.operation) === reply.type);
      const how = answers.find(
        (answer) => ask.exchange.key === undefined || fields[answer.key ?? ask.exchange.key] === ask.key,
      );
      return how ? [{ ask, how }] : [];
    });
    const chosen = able.find(({ ask }) => ask.exchange.key !== undefined) ?? byOrder(able, fields);
    if (!chosen) return undefined;
    const partial = Object.entries(chosen.how.partial ?? {}).some(([key, values]) =>
      values.some((value) => value === fields[key]),
    );
    return { ask: chosen.ask, partial };
  }

  withdraw(ask: Waiting): void {
    const asks = this.#asks.filter((other) => other !== ask);
    this.#asks = asks.length > 0 ? asks : NONE;
  }

  list(): readonly Waiting[] {
    return this.#asks;
  }
}

/** Shared by all that have none. */
const NONE: Waiting[] = [];

/**
 * By order, an answer is for the oldest ask that can have it. Two things know better: an answer that echoes the ask it is for,
 * and "busy", which is never for the ask that is being worked on but for the one after it.
 */
function byOrder(
  able: readonly { ask: Waiting; how: Reply }[],
  reply: JsonObject,
): { ask: Waiting; how: Reply } | undefined {
  const echoed = able.find(({ ask, how }) => how.echo !== undefined && reply[how.echo] === ask.message.type);
  if (echoed) return echoed;
  const refused = able.filter(({ ask }) => ask.exchange.busy === reply.type);
  return refused[1] ?? able[0];
}
