import { type AnyContract, type AnyMessage, type Flaw, Refusal, unfault, Violation } from "@parlance/wire";
import { OpenAsks } from "@parlance/wire/link";
import { type Asked, bodyOf, type Conversations } from "./conversation.js";
import { type Entry, type Header, type HeaderList, headerOf } from "./recording.js";

/** A problem of a recording. */
export interface Finding {
  /** From 1. */
  readonly line: number;
  readonly connection: number;
  readonly rule: "schema" | "order" | "exchange" | "end" | "status" | "route";
  readonly message: string;
  /** JSON Pointers to the schema errors in the body. */
  readonly at?: readonly string[];
}

export interface Totals {
  connections: number;
  messages: number;
  /** Messages that the contract does not define. They are allowed. */
  unknown: number;
}

/** The maximum number of sessions whose open requests are tracked. */
const MAX_SESSIONS = 10_000;
/** The maximum number of open requests of one side of a session. */
const MAX_ASKS = 1000;
const PLACEHOLDER = /__redacted_\d+__/;

interface Open {
  readonly c: number;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly socket: boolean;
  asked?: Asked | undefined;
  /** The body of the request has been read, or there is none. */
  bound: boolean;
  body?: string;
  status?: number;
  answer?: HeaderList;
  /** The number of messages sent by each side. */
  readonly sent: { client: number; server: number };
  last?: string;
  ended?: string;
}

/**
 * Checks a recording against its contract, entry by entry: schemas, order, exchanges, ends. It keeps only open state, so its memory does
 * not grow with the recording.
 */
export class Verifier {
  readonly totals: Totals = { connections: 0, messages: 0, unknown: 0 };
  readonly #talk: Conversations;
  readonly #contract: AnyContract;
  readonly #found: (finding: Finding) => void;
  readonly #open = new Map<number, Open>();
  readonly #asks = new Map<string | number, { client: OpenAsks; server: OpenAsks }>();
  #metadataOnly = false;

  constructor(talk: Conversations, found: (finding: Finding) => void) {
    this.#talk = talk;
    this.#contract = talk.contract;
    this.#found = found;
  }

  header(header: Header): void {
    this.#metadataOnly = header.metadataOnly === true;
  }

  entry(entry: Entry, line: number): void {
    if (entry.kind === "request") return this.#request(entry, line);
    const open = this.#open.get(entry.c);
    if (entry.kind === "close" || entry.kind === "error") this.#asks.delete(entry.c);
    const find = (rule: Finding["rule"], message: string, at?: readonly string[]) =>
      this.#found({ line, connection: entry.c, rule, message, ...(at && { at }) });
    if (!open) {
      // A confirmed close, or a ping after it.
      if (entry.kind !== "close" && entry.kind !== "ping" && entry.kind !== "pong" && entry.kind !== "error")
        find("order", `${entry.kind} of a connection that is not open`);
      return;
    }
    try {
      this.#happened(open, entry, find);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      const text = "text" in entry ? entry.text : open.body;
      const flaws = error.flaws.filter((flaw) => !isRedacted(flaw, text));
      if (error.flaws.length > 0 && flaws.length === 0) return;
      find(
        error.code === "opening" ? "order" : "schema",
        `${entry.from}: ${error.message}`,
        flaws.map(({ at }) => at),
      );
    }
  }

  /** Checks what is still open at the end of the recording. */
  end(line: number, cut: boolean): void {
    for (const [connection, open] of this.#open)
      if (!cut && !open.ended) {
        const what = open.asked?.name ?? `${open.method} ${open.target}`;
        this.#found({ line, connection, rule: "end", message: `${what} has no end` });
      }
  }

  #request({ c, method, target, headers, socket }: Extract<Entry, { kind: "request" }>, line: number): void {
    this.totals.connections++;
    const open: Open = {
      c,
      method,
      target,
      headers,
      socket: socket === true,
      bound: false,
      sent: { client: 0, server: 0 },
    };
    this.#open.set(c, open);
    if (this.#talk.namesAt(method, target) === undefined && !isPreflight(method))
      this.#found({ line, connection: c, rule: "route", message: `${this.#contract.name} has no ${method} ${target}` });
  }

  #happened(open: Open, entry: Entry, find: (rule: Finding["rule"], message: string) => void): void {
    switch (entry.kind) {
      case "body":
        if (entry.from === "client") {
          open.body = entry.text;
          if (entry.text === undefined) open.bound = true;
        } else this.#answer(open, entry.text, find);
        return;
      case "response":
        open.status = entry.status;
        open.answer = entry.headers;
        // What a server refuses may be a request that breaks the contract.
        if (entry.status < 400) this.#bind(open);
        return this.#status(open, find);
      case "event":
      case "frame":
        return this.#message(open, entry, find);
      case "end":
        this.#open.delete(entry.c);
        return this.#over(open, find);
      case "close":
        if (entry.code !== 1000 && entry.code !== 1005 && !(entry.code === 1001))
          find("end", `${entry.from} closed with ${entry.code} ${entry.reason}`.trimEnd());
        open.ended = "close";
        this.#open.delete(entry.c);
        return;
      case "error":
        this.#open.delete(entry.c);
        // A client may leave at any time.
        if (entry.from === "server" && open.ended === undefined)
          find("end", `the server's side was lost: ${entry.text}`);
    }
  }

  #bind(open: Open): void {
    if (open.bound || isPreflight(open.method)) return;
    open.bound = true;
    if (this.#metadataOnly) {
      const name = this.#talk.namesAt(open.method, open.target)?.[0];
      open.asked = name === undefined ? undefined : { name, input: {}, session: undefined };
      return;
    }
    open.asked = this.#talk.asked(
      open.method,
      open.target,
      open.headers,
      bodyOf(open.body, open.headers, this.#contract),
    );
    if (!open.asked || this.#contract.channels[open.asked.name]) return;
    const { name, input } = open.asked;
    // An operation may answer an ask on a stream or channel.
    const answers = this.#contract.exchanges?.some(({ answers }) =>
      answers.some(({ operation }) => operation === name),
    );
    if (answers) this.#asksOf(open).server.answer({ ...input, type: name });
  }

  #status({ asked, status = 0, socket }: Open, find: (rule: Finding["rule"], message: string) => void): void {
    const operation = asked && this.#contract.operations[asked.name];
    if (operation && status < 400 && status !== operation.answer.status)
      find("status", `${asked.name} answers ${operation.answer.status}, not ${status}`);
    if (socket && status < 400 && status !== 101) find("status", `a WebSocket is opened with 101, not ${status}`);
  }

  #answer(
    { asked, status = 0, answer = [], method, target }: Open,
    text: string | undefined,
    find: (rule: Finding["rule"], message: string) => void,
  ): void {
    if (text === undefined) return;
    if (status >= 400) {
      const refusal = unfault(this.#contract, status, text);
      if (!(refusal instanceof Refusal)) find("schema", `the refusal of ${method} ${target} is not readable`);
      return;
    }
    if (asked && this.#contract.operations[asked.name]?.answer.json !== undefined)
      this.#talk.checkAnswer(asked.name, bodyOf(text, answer, this.#contract));
  }

  #message(
    open: Open,
    entry: Extract<Entry, { kind: "event" | "frame" }>,
    find: (rule: Finding["rule"], message: string) => void,
  ): void {
    this.totals.messages++;
    const { asked } = open;
    if (!asked || entry.text === undefined) return;
    const { from } = entry;
    const sentinel = this.#contract.operations[asked.name]?.answer.stream?.sentinel;
    if (open.ended === "message") find("order", `${from} sends on ${asked.name} after its end ${open.last}`);
    if (sentinel !== undefined && entry.text === sentinel) {
      open.ended = "message";
      open.last = sentinel;
      return;
    }
    const event = entry.kind === "event" ? entry.event : undefined;
    const first = open.sent[from]++ === 0;
    const read = this.#talk.codec(asked.name, from).decode({ event, data: entry.text });
    if ("unknown" in read) {
      this.totals.unknown++;
      return;
    }
    const { message } = read;
    this.#order(open, from, first, message, find);
    this.#exchange(open, from, message, find);
  }

  #order(
    open: Open,
    from: "client" | "server",
    first: boolean,
    message: AnyMessage,
    find: (rule: Finding["rule"], message: string) => void,
  ): void {
    const name = open.asked!.name;
    const channel = this.#contract.channels[name];
    const opening = channel?.open?.[from];
    // A server that refuses to open says so first; a channel that is joined again has been opened before.
    const rejoined = headerOf(open.headers, "sec-websocket-protocol")?.includes("parlance.") ?? false;
    if (first && opening !== undefined && message.type !== opening && message.type !== channel?.fault && !rejoined)
      find("order", `${name} is opened by ${opening}, not by ${message.type}`);
    const stream = this.#contract.operations[name]?.answer.stream;
    open.last = message.type;
    if (stream?.end?.includes(message.type)) open.ended = "message";
    if (stream?.mayEnd?.includes(message.type)) open.ended = "perhaps";
    else if (open.ended === "perhaps") open.ended = undefined;
  }

  #exchange(
    open: Open,
    from: "client" | "server",
    message: AnyMessage,
    find: (rule: Finding["rule"], message: string) => void,
  ): void {
    const { exchanges = [] } = this.#contract;
    if (exchanges.length === 0) return;
    const asks = this.#asksOf(open);
    const other = from === "client" ? asks.server : asks.client;
    const isAnswer = exchanges.filter(
      ({ by, answers }) => by !== from && answers.some((one) => one.message === message.type),
    );
    if (isAnswer.length > 0 && !other.answer(message) && isAnswer.every(({ key }) => key !== undefined))
      find("exchange", `${message.type} answers nothing that is open: ${keysOf(isAnswer, message)}`);
    asks[from].open(message);
    const list = asks[from].list();
    if (list.length > MAX_ASKS) asks[from].withdraw(list[0]!);
  }

  /** By session where the contract has them, because an operation may answer what a stream asked; else by connection. */
  #asksOf({ asked, c }: Open): { client: OpenAsks; server: OpenAsks } {
    const key = asked?.session ?? c;
    const known = this.#asks.get(key);
    if (known) return known;
    const asks = { client: new OpenAsks(this.#contract, "client"), server: new OpenAsks(this.#contract, "server") };
    this.#asks.set(key, asks);
    if (this.#asks.size > MAX_SESSIONS) this.#asks.delete(this.#asks.keys().next().value!);
    return asks;
  }

  #over({ asked, status = 0, ended, answer = [] }: Open, find: (rule: Finding["rule"], message: string) => void): void {
    const stream = asked && status < 400 ? this.#contract.operations[asked.name]?.answer.stream : undefined;
    if (!stream || (stream.closedBy !== undefined && ended === undefined)) return;
    const hasEnd = stream.end ?? stream.sentinel ?? stream.mayEnd;
    const isStream = headerOf(answer, "content-type")?.startsWith("text/event-stream");
    if (hasEnd && isStream && ended === undefined && !this.#metadataOnly)
      find(
        "end",
        `${asked!.name} stopped without ${[...(stream.end ?? []), ...(stream.mayEnd ?? []), stream.sentinel].filter(Boolean).join(" or ")}`,
      );
  }
}

const isPreflight = (method: string) => method === "OPTIONS" || method === "HEAD";

function keysOf(exchanges: readonly { readonly ask: string; readonly key?: string }[], message: AnyMessage): string {
  return exchanges
    .map(({ ask, key = "" }) => `${ask} with ${key} ${JSON.stringify((message as never)[key])}`)
    .join(", ");
}

/** Whether the value at an error, or around it, was redacted: a schema does not apply to a placeholder. */
function isRedacted({ at }: Flaw, text: string | undefined): boolean {
  if (text === undefined || !PLACEHOLDER.test(text)) return false;
  try {
    let value: unknown = JSON.parse(text);
    for (const step of at.split("/").slice(1))
      value = (value as Record<string, unknown>)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")];
    return typeof value === "string" && PLACEHOLDER.test(value);
  } catch {
    return false;
  }
}
