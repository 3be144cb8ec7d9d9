import { type AnyContract, type AnyMessage, isObject, type Side } from "@parlance/wire";
import { keyPath, valueAt } from "@parlance/wire/internal/pointer";
import { OpenAsks, type Waiting } from "@parlance/wire/link";
import type { RpcMessage } from "@parlance/wire/rpc";
import type { Asked } from "../conversation.js";
import { remember } from "./bounded.js";
import type { Find, Open } from "./finding.js";

/** The maximum number of open requests of one side of a session. */
const MAX_ASKS = 1000;

/** An open ask of one side. */
export interface OpenAsk {
  readonly by: Side;
  readonly waiting: Waiting;
}

/**
 * `hasGaps`: a message that is not in the recording may have asked. `others` has the ids of requests that the contract does not define, such as those
 * of extensions.
 */
type Asks = { readonly [side in Side]: OpenAsks } & {
  hasGaps?: true;
  readonly others: { readonly [side in Side]: Set<unknown> };
};

/** Matches answers to requests: by session where the contract has them, because an operation may answer what a stream asked. */
export class SessionAsks {
  readonly #contract: AnyContract;
  readonly #asks = new Map<string | number, Asks>();

  constructor(contract: AnyContract) {
    this.#contract = contract;
  }

  message(open: Open, from: Side, message: AnyMessage, find: Find): void {
    const { exchanges = [] } = this.#contract;
    if (exchanges.length === 0) return;
    const asks = this.#of(open);
    const peer = from === "client" ? "server" : "client";
    const isAnswer = exchanges.filter(
      ({ by, answers }) => by !== from && answers.some((one) => one.message === message.type),
    );
    const isOfOther = isAnswer.length > 0 && asks.others[peer].delete((message as RpcMessage).id);
    const isKnown = isAnswer.length === 0 || isOfOther || asks[peer].answer(message) || asks.hasGaps;
    if (!isKnown && isAnswer.every(({ key }) => key !== undefined))
      find("exchange", `${message.type} answers nothing that is open: ${keysOf(isAnswer, message)}`);
    asks[from].open(message);
    const list = asks[from].list();
    if (list.length > MAX_ASKS) asks[from].withdraw(list[0]!);
  }

  /** A message that the contract does not define. A request of JSON-RPC is answered, if only with an error. */
  other(open: Open, from: Side, body: unknown): void {
    if (!this.#contract.methods || !isObject(body) || body.method === undefined || body.id === undefined) return;
    const ids = this.#of(open).others[from];
    ids.add(body.id);
    if (ids.size > MAX_ASKS) ids.delete(ids.values().next().value);
  }

  /** A message that was left out of the recording. */
  unknown(open: Open): void {
    if (this.#contract.exchanges) this.#of(open).hasGaps = true;
  }

  /** An operation may answer an ask on a stream or channel. Without a session only the key names it. */
  operation(open: Open, { name, input, session }: Asked): void {
    const { exchanges = [] } = this.#contract;
    if (!exchanges.some(({ answers }) => answers.some(({ operation }) => operation === name))) return;
    const places = session === undefined ? this.#asks.values() : [this.#of(open)];
    for (const { server } of places) if (server.answer({ ...input, type: name })) return;
  }

  /** The open asks of all sessions, oldest first in each. */
  list(): OpenAsk[] {
    const sides = ["server", "client"] as const;
    return [...this.#asks.values()].flatMap((asks) =>
      sides.flatMap((by) => asks[by].list().map((waiting) => ({ by, waiting }))),
    );
  }

  /** A connection is over, with its own requests. */
  drop(connection: number): void {
    this.#asks.delete(connection);
  }

  /** A stream is over for good, with its own requests; those of a session stay. */
  end({ asked, key, c }: Open): void {
    if (asked && asked.session === undefined) this.#asks.delete(key ?? c);
  }

  #of({ asked, key, c }: Open): Asks {
    const name = asked?.session ?? key ?? c;
    const known = this.#asks.get(name);
    if (known) return known;
    const asks = {
      client: new OpenAsks(this.#contract, "client"),
      server: new OpenAsks(this.#contract, "server"),
      others: { client: new Set(), server: new Set() },
    };
    remember(this.#asks, name, asks);
    return asks;
  }
}

function keysOf(exchanges: readonly { readonly ask: string; readonly key?: string }[], message: AnyMessage): string {
  return exchanges
    .map(({ ask, key = "" }) => `${ask} with ${key} ${JSON.stringify(valueAt(message, keyPath(key)))}`)
    .join(", ");
}
