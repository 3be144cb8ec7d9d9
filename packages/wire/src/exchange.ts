import type { Contract, Exchange, Reply, Side } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import { type JsonObject, matches } from "./json.js";

/** An ask that waits for its answer. */
export interface Waiting {
  readonly message: AnyMessage;
  readonly exchange: Exchange;
  /** The key's value; undefined for an exchange by order. */
  readonly key: unknown;
  /** Called with the answer that settles it. */
  readonly settle?: ((answer: AnyMessage) => void) | undefined;
  /** Called when no answer can arrive any more. */
  readonly fail?: ((error: unknown) => void) | undefined;
}

export interface Answered {
  readonly ask: Waiting;
  /** Whether the answer is partial, so that the ask stays open. */
  readonly partial: boolean;
}

/** An open ask, linked in the list of all open asks and in that of its exchange and key. */
interface Open extends Waiting {
  readonly place: number;
  readonly line: Line;
  older: Open | undefined;
  newer: Open | undefined;
  before: Open | undefined;
  after: Open | undefined;
}

/** The open asks of one exchange that have the same key, oldest first. */
interface Line {
  first: Open | undefined;
  last: Open | undefined;
}

/** How a message may answer the asks of an exchange. */
interface Way {
  readonly exchange: Exchange;
  readonly how: Reply;
  /** The answer's property that holds the ask's key. */
  readonly key: string | undefined;
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
  /** By exchange and key. Absent before the first ask: thousands of connections have none. */
  #lines: Map<Exchange, Map<unknown, Line>> | undefined;
  #oldest: Open | undefined;
  #newest: Open | undefined;
  #places = 0;
  #size = 0;

  constructor(contract: Contract, side: Side) {
    this.#table = tableOf(contract, side);
  }

  get size(): number {
    return this.#size;
  }

  /** The exchange that a message begins, if it is an ask. */
  exchangeOf(message: AnyMessage): Exchange | undefined {
    const exchanges = this.#table.asks.get(message.type);
    return exchanges?.find(({ when }) => when === undefined || matches(message as AnyMessage & JsonObject, when));
  }

  /** Records an ask. Returns undefined for a message that is not an ask. */
  open(message: AnyMessage, on?: Pick<Waiting, "settle" | "fail">): Waiting | undefined {
    const exchange = this.exchangeOf(message);
    if (!exchange) return undefined;
    const key = exchange.key === undefined ? undefined : (message as AnyMessage & JsonObject)[exchange.key];
    const line = this.#lineOf(exchange, key);
    const ask: Open = {
      message,
      exchange,
      key,
      ...on,
      place: this.#places++,
      line,
      older: this.#newest,
      newer: undefined,
      before: line.last,
      after: undefined,
    };
    if (ask.older) ask.older.newer = ask;
    else this.#oldest = ask;
    this.#newest = ask;
    if (ask.before) ask.before.after = ask;
    else line.first = ask;
    line.last = ask;
    this.#size++;
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
    const ways = this.#oldest && this.#table.answers.get(reply.type);
    if (!ways) return undefined;
    const fields = reply as AnyMessage & JsonObject;
    let keyed: Candidate | undefined;
    const able: Candidate[] = [];
    for (const way of ways) {
      const first = this.#lines!.get(way.exchange)?.get(way.key === undefined ? undefined : fields[way.key])?.first;
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
    const partial = chosen.way.partial.some(([property, values]) => values.includes(fields[property]));
    return { ask: chosen.ask, partial };
  }

  /** Closes an ask. Has no effect on a closed one. */
  withdraw(ask: Waiting): void {
    const open = ask as Open;
    const { line, older, newer, before, after, exchange, key } = open;
    if (before === undefined && line.first !== ask) return;
    open.older = open.newer = open.before = open.after = undefined;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    if (before) before.after = after;
    else line.first = after;
    if (after) after.before = before;
    else line.last = before;
    if (!line.first) this.#lines!.get(exchange)!.delete(key);
    this.#size--;
  }

  /** The open asks, oldest first. */
  list(): readonly Waiting[] {
    const asks: Waiting[] = [];
    for (let ask = this.#oldest; ask; ask = ask.newer) asks.push(ask);
    return asks;
  }

  /** Whether an open ask belongs to an exchange whose `busy` has this name. */
  isBusy(name: string): boolean {
    for (const [{ busy }, lines] of this.#lines ?? []) if (busy === name && lines.size > 0) return true;
    return false;
  }

  #lineOf(exchange: Exchange, key: unknown): Line {
    this.#lines ??= new Map();
    let lines = this.#lines.get(exchange);
    if (!lines) {
      lines = new Map();
      this.#lines.set(exchange, lines);
    }
    let line = lines.get(key);
    if (!line) {
      line = { first: undefined, last: undefined };
      lines.set(key, line);
    }
    return line;
  }
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
    entryOf(asks, exchange.ask).push(exchange);
    for (const how of exchange.answers) {
      const key = exchange.key === undefined ? undefined : (how.key ?? exchange.key);
      const way: Way = { exchange, how, key, partial: Object.entries(how.partial ?? {}) };
      const name = how.message ?? how.operation;
      if (name !== undefined) entryOf(answers, name).push(way);
    }
  }
  return { asks, answers };
}

function entryOf<T>(map: Map<string, T[]>, key: string): T[] {
  const entry = map.get(key) ?? [];
  map.set(key, entry);
  return entry;
}
