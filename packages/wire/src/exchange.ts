import type { Contract, Exchange, Reply, Side, Whole } from "./contract/contract.js";
import type { AnyMessage } from "./contract/schema.js";
import { keyPath, parsePointer, valueAt } from "./internal/pointer.js";
import { type JsonObject, matches } from "./json.js";

/** An ask that waits for its answer. */
export interface Waiting {
  readonly message: AnyMessage;
  readonly exchange: Exchange;
  /** The key's value; undefined for an exchange by order. */
  readonly key: unknown;
  /** Called with the answer that settles it. */
  readonly settle?: ((answer: AnyMessage) => void) | undefined;
  /** Called with the answer to a part of it. */
  readonly part?: ((answer: AnyMessage) => void) | undefined;
  /** Called when no answer can arrive any more. */
  readonly fail?: ((error: unknown) => void) | undefined;
}

export interface Answered {
  readonly ask: Waiting;
  /** Whether the answer is partial, so that the ask stays open. */
  readonly partial: boolean;
}

/** An open ask, linked in the list of its exchange and key. */
interface Open extends Waiting {
  readonly place: number;
  readonly line: Line;
  before: Open | undefined;
  after: Open | undefined;
}

/** The open asks of one exchange that have the same key, oldest first. Linked, because the first entry of a set is found past all dropped ones. */
interface Line {
  first: Open | undefined;
  last: Open | undefined;
}

/** How a message may answer the asks of an exchange. */
interface Way {
  readonly exchange: Exchange;
  readonly how: Reply;
  /** Where the answer holds the ask's key. */
  readonly key: readonly string[] | undefined;
  readonly partial: readonly (readonly [property: string, values: readonly unknown[]])[];
}

interface Candidate {
  readonly ask: Open;
  readonly way: Way;
}

/** The exchanges of one side of a contract, by ask and by answer. */
interface Table {
  readonly asks: ReadonlyMap<string, readonly Exchange[]>;
  readonly answers: ReadonlyMap<string, readonly Way[]>;
}

/**
 * The open asks of one side of one conversation. Finding the answered ask takes constant time. A reply that is
 * an operation has the operation's name as its type.
 */
export class OpenAsks {
  readonly #table: Table;
  /** All, oldest first. Absent before the first ask, as its lines are: thousands of connections have none. */
  #open: Set<Open> | undefined;
  /** By exchange and key. */
  #lines: Map<Exchange, Map<unknown, Line>> | undefined;
  #places = 0;

  constructor(contract: Contract, side: Side) {
    this.#table = tableOf(contract, side);
  }

  get size(): number {
    return this.#open?.size ?? 0;
  }

  /** The exchange that a message begins, if it is an ask. */
  exchangeOf(message: AnyMessage): Exchange | undefined {
    const exchanges = this.#table.asks.get(message.type);
    return exchanges?.find(({ when }) => when === undefined || matches(message as AnyMessage & JsonObject, when));
  }

  /** Records an ask. Returns undefined for a message that is not an ask. */
  open(message: AnyMessage, on?: Pick<Waiting, "settle" | "part" | "fail">): Waiting | undefined {
    const exchange = this.exchangeOf(message);
    if (!exchange) return undefined;
    const key = exchange.key === undefined ? undefined : valueAt(message, keyPath(exchange.key));
    this.#open ??= new Set();
    this.#lines ??= new Map();
    const keys = entryOf(this.#lines, exchange, () => new Map<unknown, Line>());
    const line = entryOf<unknown, Line>(keys, key, () => ({ first: undefined, last: undefined }));
    const ask: Open = {
      message,
      exchange,
      key,
      ...on,
      place: this.#places++,
      line,
      before: line.last,
      after: undefined,
    };
    this.#open.add(ask);
    if (line.last) line.last.after = ask;
    else line.first = ask;
    line.last = ask;
    return ask;
  }

  /** Finds the ask that a message or an operation answers, and closes it unless the answer is partial. It does not settle the ask. */
  answer(reply: AnyMessage): Answered | undefined {
    const found = this.find(reply);
    if (found && !found.partial) this.withdraw(found.ask);
    return found;
  }

  /** Finds the ask as `answer` does, but leaves it open. */
  find(reply: AnyMessage): Answered | undefined {
    const ways = this.size > 0 && this.#table.answers.get(reply.type);
    if (!ways) return undefined;
    const fields = reply as AnyMessage & JsonObject;
    let keyed: Candidate | undefined;
    const able: Candidate[] = [];
    for (const way of ways) {
      const first = this.#lines!.get(way.exchange)?.get(
        way.key === undefined ? undefined : valueAt(fields, way.key),
      )?.first;
      if (!first) continue;
      if (way.key !== undefined) {
        if (!keyed || first.place < keyed.ask.place) keyed = { ask: first, way };
      } else if (!able.some(({ ask }) => ask === first)) {
        able.push({ ask: first, way });
        // "busy" answers the ask after the oldest one.
        if (first.after) able.push({ ask: first.after, way });
      }
    }
    const chosen = keyed ?? (able.length > 0 ? byOrder(able, fields) : undefined);
    if (!chosen) return undefined;
    const { partial: about, how } = chosen.way;
    const partial =
      about.some(([property, values]) => values.includes(fields[property])) &&
      !how.whole?.some((whole) => isWhole(whole, fields, chosen.ask.message));
    return { ask: chosen.ask, partial };
  }

  /** Closes an ask. Has no effect on a closed one. */
  withdraw(ask: Waiting): void {
    const { line, before, after, exchange, key } = ask as Open;
    if (!this.#open!.delete(ask as Open)) return;
    if (before) before.after = after;
    else line.first = after;
    if (after) after.before = before;
    else line.last = before;
    if (!line.first) this.#lines!.get(exchange)!.delete(key);
  }

  /** The open asks, oldest first. */
  list(): readonly Waiting[] {
    return [...(this.#open ?? [])];
  }
}

/** Whether an answer to a part is about all that was asked. */
function isWhole({ when = {}, same = {}, single }: Whole, answer: JsonObject, ask: AnyMessage): boolean {
  if (!matches(answer, when)) return false;
  const items = single === undefined ? undefined : valueAt(ask, parsePointer(single));
  if (Array.isArray(items) && items.length > 1) return false;
  return Object.entries(same).every(([property, pointer]) => {
    const asked = valueAt(ask, parsePointer(pointer));
    return asked === undefined || asked === valueAt(answer, [property]);
  });
}

/**
 * By order, an answer settles the oldest ask that accepts it. There are two exceptions: an answer that echoes its ask,
 * and "busy", which answers the ask after the one in progress.
 */
function byOrder(able: Candidate[], reply: JsonObject): Candidate | undefined {
  able.sort((one, other) => one.ask.place - other.ask.place);
  const echoed = able.find(({ ask, way: { how } }) => how.echo !== undefined && reply[how.echo] === ask.message.type);
  if (echoed) return echoed;
  const refused = able.filter(({ way }) => way.exchange.busy === reply.type);
  return refused[1] ?? able[0];
}

const tables = new WeakMap<Contract, { [by in Side]?: Table }>();

function tableOf(contract: Contract, side: Side): Table {
  const made = tables.get(contract) ?? {};
  tables.set(contract, made);
  made[side] ??= tableFor((contract.exchanges ?? []).filter(({ by }) => by === side));
  return made[side];
}

function tableFor(exchanges: readonly Exchange[]): Table {
  const asks = new Map<string, Exchange[]>();
  const answers = new Map<string, Way[]>();
  for (const exchange of exchanges) {
    entryOf(asks, exchange.ask, () => []).push(exchange);
    for (const how of exchange.answers) {
      const key = exchange.key === undefined ? undefined : keyPath(how.key ?? exchange.key);
      const way: Way = { exchange, how, key, partial: Object.entries(how.partial ?? {}) };
      const name = how.message ?? how.operation;
      if (name !== undefined) entryOf(answers, name, () => []).push(way);
    }
  }
  return { asks, answers };
}

/** The entry of a key, made when there is none. */
function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const entry = map.get(key) ?? make();
  map.set(key, entry);
  return entry;
}

/** The properties of an ask that its answers are recognized by: the whole may be large, and wait for long. */
function partsOf(message: AnyMessage, { key, when = {}, answers }: Exchange): AnyMessage {
  const pointers = answers.flatMap(({ whole = [] }) =>
    whole.flatMap(({ single, same = {} }) => [...(single === undefined ? [] : [single]), ...Object.values(same)]),
  );
  const names = new Set([
    "type",
    key && keyPath(key)[0],
    ...Object.keys(when),
    ...pointers.map((pointer) => parsePointer(pointer)[0]),
  ]);
  return Object.fromEntries(Object.entries(message).filter(([name]) => names.has(name))) as AnyMessage;
}

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
    const exchange = this.#asks.exchangeOf(message);
    if (!exchange) return undefined;
    const { busy } = exchange;
    if (busy !== undefined && this.#busy.has(busy)) return this.#fault(busy);
    this.#asks.open(partsOf(message, exchange));
    this.#busy.add(busy);
    return undefined;
  }

  /** Records a message of this side, which may answer an ask. */
  sent(message: AnyMessage): void {
    const answered = this.#asks.answer(message);
    if (answered && !answered.partial) this.#busy.delete(answered.ask.exchange.busy);
  }
}

/** A promise that a signal can reject early. Its listener is removed once it settles, because a signal may outlive thousands of asks. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal, abort: (reason: unknown) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => {
      abort(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const release = () => signal.removeEventListener("abort", onAbort);
    promise.then(resolve, reject).then(release);
  });
}
