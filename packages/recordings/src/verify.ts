import { type AnyContract, isObject, type Side, type Unknown, Violation } from "@parlance/wire";
import { isCut } from "@parlance/wire/durable";
import { isControl } from "@parlance/wire/resume";
import { type Asked, bodyOf, type Conversations } from "./conversation.js";
import { isLeftOut, LeftOut } from "./left-out.js";
import type { Content, Entry, Header } from "./recording.js";
import { isPath, notPath } from "./target.js";
import { type OpenAsk, SessionAsks } from "./verify/asks.js";
import { remember } from "./verify/bounded.js";
import { type Find, type Finding, type Note, type Open, RULES, type Rule, type Totals } from "./verify/finding.js";
import { checkAnswerHeaders, checkRefusal, checkRefusedStatus, checkRequestType } from "./verify/headers.js";
import { checkEventName, checkOrder, isSentinel, missingEnd } from "./verify/order.js";
import { isRedactedParameter, withoutRedacted } from "./verify/redacted.js";
import { Resumptions } from "./verify/resume.js";

export type { OpenAsk } from "./verify/asks.js";
export type { Finding, Note } from "./verify/finding.js";

type Message = Extract<Entry, { kind: "event" | "frame" }>;

/** The most names of unknown messages that are counted, and the most rules that are reported. */
const MAX_NAMES = 200;

/**
 * Checks a recording against its contract, entry by entry: schemas, order, exchanges, ends. It keeps only open state, so its memory does
 * not grow with the recording. A loss is reported at the end, because the stream or channel may be resumed.
 */
export class Verifier {
  readonly totals: Totals = {
    connections: 0,
    messages: 0,
    unknown: 0,
    unknownTypes: Object.create(null),
    leftOut: new LeftOut(),
  };
  /** The findings about forms. Each is reported once, however often it comes. */
  readonly #forms = new Set<string>();
  readonly #talk: Conversations;
  readonly #contract: AnyContract;
  readonly #found: (finding: Finding) => void;
  readonly #noted: ((note: Note) => void) | undefined;
  #line = 0;
  /** The highest number of a connection that has begun. */
  #newest = 0;
  readonly #open = new Map<number, Open>();
  /** Connections that one side has closed. What the other has sent before it knew of this may follow. */
  readonly #closed = new Map<number, { readonly by: Side; readonly open: Open }>();
  readonly #asks: SessionAsks;
  readonly #resumptions: Resumptions;
  #metadataOnly = false;
  /** A transcript has neither the headers of answers nor the types of all of them. */
  #hasHeaders = true;
  /** A transcript holds what real peers write, with the message that it is read as. */
  #isTranscript = false;

  /** `noted` is called for every call and message that the contract reads. */
  constructor(talk: Conversations, found: (finding: Finding) => void, noted?: (note: Note) => void) {
    this.#talk = talk;
    this.#contract = talk.contract;
    this.#found = found;
    this.#noted = noted;
    this.#asks = new SessionAsks(talk.contract);
    this.#resumptions = new Resumptions(talk);
  }

  /** The rules that are checked. Metadata alone has no texts. */
  get checked(): readonly Rule[] {
    return this.#metadataOnly ? ["route", "status"] : RULES;
  }

  /** The open asks of all sessions, oldest first in each. */
  asks(): OpenAsk[] {
    return this.#asks.list();
  }

  header(header: Header): void {
    this.#metadataOnly = header.metadataOnly === true;
    this.#isTranscript = header.transcript === true;
    this.#hasHeaders = !this.#metadataOnly && !header.transcript;
  }

  entry(entry: Entry, line: number): void {
    this.#line = line;
    if (entry.kind === "request") return this.#request(entry, line);
    const closed = this.#closed.get(entry.c);
    const open = this.#open.get(entry.c) ?? (closed?.by === entry.from ? undefined : closed?.open);
    if (entry.kind === "close" || entry.kind === "error") this.#asks.drop(entry.c);
    const find: Find = (rule, message, at) =>
      this.#found({ line, connection: entry.c, rule, message, ...(at && { at }) });
    if (closed && (entry.kind === "close" || entry.kind === "error")) return void this.#closed.delete(entry.c);
    if (!open) {
      // A confirmed close, or a ping after it.
      const mayFollow = ["close", "ping", "pong", "error"].includes(entry.kind) && entry.c <= this.#newest;
      if (!mayFollow) find("order", `${entry.kind} of a connection that is not open`);
      return;
    }
    if (isLeftOut(entry) && !this.#metadataOnly) {
      this.totals.leftOut.add(entry as Content);
      if (entry.from === "server") open.hasGaps = true;
    }
    this.#meet(
      entry.from,
      "text" in entry ? entry.text : undefined,
      find,
      () => this.#happened(open, entry, line, find),
      (error) => {
        if (entry.kind === "event" || entry.kind === "frame") this.#note(open, error.subject);
      },
    );
  }

  /** Reports what breaks a schema, as a fault of the side that sent it. */
  #meet(
    from: Side,
    text: string | undefined,
    find: Find,
    check: () => void,
    failed: (error: Violation) => void = () => {},
    request?: Open,
  ): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      failed(error);
      const flaws = withoutRedacted(error.flaws, text).filter(
        (flaw) => !(request && isRedactedParameter(flaw, request, this.#talk)),
      );
      if (error.flaws.length > 0 && flaws.length === 0) return;
      find(
        error.code === "opening" ? "order" : "schema",
        `${from}: ${error.message}`,
        flaws.map(({ at }) => at),
      );
    }
  }

  /** Checks what is still open at the end of the recording. */
  end(line: number, cut: boolean): void {
    for (const finding of this.#resumptions.end()) this.#found(finding);
    for (const [connection, open] of this.#open)
      if (!cut && !open.ended) {
        const what = open.asked?.name ?? `${open.method} ${open.target}`;
        this.#found({ line, connection, rule: "end", message: `${what} has no end` });
      }
  }

  #request(request: Extract<Entry, { kind: "request" }>, line: number): void {
    this.totals.connections++;
    const { c, method, target, headers, socket = false } = request;
    this.#newest = Math.max(this.#newest, c);
    const resumption = this.#resumptions.of(request);
    const sent = { client: 0, server: 0 };
    const bound = resumption.resuming !== undefined;
    this.#open.set(c, { c, method, target, headers, socket, ...resumption, bound, sent });
    if (!isPath(target)) this.#found({ line, connection: c, rule: "route", message: notPath(target) });
    else if (!bound && this.#talk.namesAt(method, target) === undefined && !isPreflight(method))
      this.#found({ line, connection: c, rule: "route", message: `${this.#contract.name} has no ${method} ${target}` });
  }

  #happened(open: Open, entry: Exclude<Entry, { kind: "request" }>, line: number, find: Find): void {
    switch (entry.kind) {
      case "body":
        if (entry.from === "client") {
          open.hasBody = true;
          if (entry.text !== undefined) open.body = entry.text;
          else if (!this.#isUpload(open)) this.#readPath(open);
        } else this.#answer(open, entry.text, find);
        return;
      case "response":
        open.status = entry.status;
        open.answer = entry.headers;
        if (entry.status < 400 && (open.resuming === "stream" || open.socket)) this.#resumptions.resumed(open);
        // What a server refuses may be a request that breaks the contract.
        if (entry.status < 400) this.#bind(open, find);
        return this.#status(open, find);
      case "event":
      case "frame":
        return entry.text && isControl(entry.text) ? undefined : this.#message(open, entry, find);
      case "end": {
        // A server may answer before it has read the whole request.
        this.#close(open, entry.from);
        const missing = this.#metadataOnly ? undefined : missingEnd(this.#contract, open);
        if (missing === undefined) this.#asks.end(open);
        return this.#lost(open, line, missing);
      }
      case "close": {
        const { code, from, reason } = entry;
        const usual = code === 1000 || code === 1001 || code === 1005;
        this.#close(open, from);
        const what = usual ? undefined : `${from} closed with ${code} ${reason}`.trimEnd();
        if (isCut(code)) this.#lost(open, line, what);
        else if (what !== undefined) find("end", what);
        return;
      }
      case "error":
        this.#open.delete(entry.c);
        // A client may leave at any time.
        if (entry.from === "server" && open.ended === undefined)
          this.#lost(open, line, `the server's side was lost: ${entry.text}`);
    }
  }

  #close(open: Open, by: Side): void {
    this.#open.delete(open.c);
    // Every byte that a closed connection keeps is kept thousands of times.
    delete open.body;
    if (!open.socket && (open.hasBody || open.method === "GET")) return;
    remember(this.#closed, open.c, { by, open });
  }

  /** A stream or channel is over before its end. One that can be resumed may go on. */
  #lost({ c, key }: Open, line: number, message: string | undefined): void {
    if (message === undefined) return;
    const finding = { line, connection: c, rule: "end", message } as const;
    const due = key === undefined ? finding : this.#resumptions.lost(key, finding);
    if (due) this.#found(due);
  }

  #bind(open: Open, find: Find): void {
    const read = (): void => this.#read(open, find);
    this.#meet("client", open.body, find, read, undefined, open);
    if (open.asked && this.#hasHeaders && !open.socket && (open.body !== undefined || open.hasBody))
      checkRequestType(this.#contract, open.asked.name, open.headers, find);
  }

  #read(open: Open, find: Find): void {
    if (open.bound || isPreflight(open.method)) return;
    open.bound = true;
    const { method, target, headers, body } = open;
    if (this.#metadataOnly) {
      const name = this.#talk.namesAt(method, target)?.[0];
      open.asked = name === undefined ? undefined : { name, input: {}, session: undefined };
      return;
    }
    const value = bodyOf(body, headers, this.#contract);
    // The reading rules may change the value.
    const rereadings = ({ name, input }: Asked) => [
      this.#talk.rereadPath(name, target),
      this.#talk.rereadingOf(name, "client", bodyOf(body, headers, this.#contract), input),
    ];
    open.asked = this.#talk.asked(method, target, headers, value);
    for (const one of open.asked ? rereadings(open.asked) : []) this.#meetForm("client", one, find);
    this.#note(open);
    if (!open.asked || this.#contract.channels[open.asked.name]) return;
    this.#resumptions.began(open, open.asked);
    this.#asks.operation(open, open.asked);
  }

  /** The call of a request whose body is not known, where its path is that of one call. */
  #readPath(open: Open): void {
    open.bound = true;
    const [name, ...others] = this.#talk.namesAt(open.method, open.target) ?? [];
    if (name === undefined || others.length > 0) return;
    open.asked = { name, input: {}, session: undefined };
    this.#note(open);
    this.#resumptions.began(open, open.asked);
  }

  /** Whether the request's body is bytes, which no schema describes. */
  #isUpload({ method, target }: Open): boolean {
    const names = this.#talk.namesAt(method, target) ?? [];
    return names.some((name) => this.#contract.operations[name]?.binary !== undefined);
  }

  #status(open: Open, find: Find): void {
    const { asked, status = 0, socket, method, target, resuming, answer = [] } = open;
    const operation = asked && this.#contract.operations[asked.name];
    const names = this.#talk.namesAt(method, target);
    if (status >= 400 && names && resuming === undefined) checkRefusedStatus(this.#talk, open, names, find);
    if (operation && this.#hasHeaders && status === operation.answer.status)
      checkAnswerHeaders(this.#contract, asked.name, answer, find);
    const { status: declared, none } = operation?.answer ?? {};
    if (operation && status < 400 && status !== declared && status !== none)
      find(
        "status",
        `${asked.name} answers ${none === undefined ? declared : `${declared} or ${none}`}, not ${status}`,
      );
    if (socket && status < 400 && status !== 101) find("status", `a WebSocket is opened with 101, not ${status}`);
    if (!socket && status === 101) find("status", "101 answers a request that asks for no WebSocket");
  }

  #answer(open: Open, text: string | undefined, find: Find): void {
    const { asked, status = 0, answer = [], method, target, resuming } = open;
    // Another server answers such a request in words of its own.
    const expected = asked && this.#contract.operations[asked.name]?.answer;
    const hasBody = expected && (expected.json ?? expected.text ?? expected.binary ?? expected.stream) !== undefined;
    if (expected && resuming === undefined && status < 400 && (status === 204 || status === expected.none || !hasBody))
      return find("schema", `server: ${asked.name} is answered with ${status} and a body, and has none`);
    if (text === undefined) return;
    if (resuming === "cancel" || (resuming === "offer" && status >= 400)) return;
    if (resuming === "offer") return this.#resumptions.offered(open, bodyOf(text, answer, this.#contract, "server"));
    const names = this.#talk.namesAt(method, target);
    if (status >= 400) return names && checkRefusal(this.#contract, open, names, text, find);
    if (!asked) return;
    if (expected?.stream?.lines !== undefined) return this.#lines(open, text, find);
    if (expected?.json === undefined) return;
    const value = bodyOf(text, answer, this.#contract, "server");
    this.#meetForm("server", this.#talk.rereadingOf(asked.name, "server", value), find);
    this.#talk.checkAnswer(asked.name, value);
  }

  /** The messages of a body of lines. The last one has no end where the stream was cut. */
  #lines(open: Open, text: string, find: Find): void {
    const lines = text.split("\n");
    const last = lines.pop()!;
    for (const line of isJson(last) ? [...lines, last] : lines) {
      if (line.trim() === "") continue;
      const message = { c: open.c, kind: "event", from: "server", text: line } as Message;
      this.#meet("server", line, find, () => this.#message(open, message, find));
    }
  }

  /** Reports once that a peer writes another form than the documented one. */
  #meetForm(from: Side, rereading: string | undefined, find: Find): void {
    if (rereading === undefined || this.#isTranscript) return;
    const message = `${from}: ${rereading}`;
    if (this.#forms.has(message) || this.#forms.size >= MAX_NAMES) return;
    this.#forms.add(message);
    find("form", message);
  }

  #message(open: Open, entry: Message, find: Find): void {
    this.totals.messages++;
    const { asked } = open;
    const { from, text } = entry;
    if (asked && entry.kind === "frame" && entry.base64 !== undefined)
      return find(
        "schema",
        `${from}: a frame on ${asked.name} that is binary or not UTF-8, and its messages are text frames`,
      );
    if (!asked) return;
    if (text === undefined) {
      open.sent[from]++;
      return this.#asks.unknown(open);
    }
    if (open.ended === "message") find("order", `${from} sends on ${asked.name} after its end ${open.last}`);
    if (isSentinel(this.#contract, open, text)) return;
    const event = entry.kind === "event" ? entry.event : undefined;
    open.sent[from]++;
    const read = this.#talk.codec(asked.name, from).decode({ event, data: text });
    if ("unknown" in read) {
      this.#countUnknown(open, this.#nameOf(read.unknown));
      this.#asks.other(open, from, read.unknown.body);
      return;
    }
    const rereading = this.#talk.rereading(from, text, read.message, event);
    this.#meetForm(from, rereading, find);
    this.#note(open, read.message.type, { message: read.message, rereading });
    if (entry.kind === "event" && this.#hasHeaders) checkEventName(this.#contract, entry, read.message.type, find);
    checkOrder(this.#contract, open, from, read.message, find);
    this.#asks.message(open, from, read.message, find);
  }

  #countUnknown(open: Open, name: string | undefined): void {
    const { unknownTypes } = this.totals;
    const key = name ?? "without a name";
    this.totals.unknown++;
    if (key in unknownTypes || Object.keys(unknownTypes).length < MAX_NAMES)
      unknownTypes[key] = (unknownTypes[key] ?? 0) + 1;
    this.#note(open, name, { unknown: true });
  }

  /** The name that an unknown message gives itself. */
  #nameOf({ event, body }: Unknown): string | undefined {
    const { tag } = this.#contract;
    const property = tag.in === "property" ? tag.property : "type";
    const own = tag.in !== "event" && isObject(body) ? body[property] : undefined;
    return typeof own === "string" ? own : event;
  }

  #note({ asked, c }: Open, type?: string, more: Pick<Note, "message" | "unknown" | "rereading"> = {}): void {
    if (!asked) return;
    const { name, input, session } = asked;
    this.#noted?.({ line: this.#line, connection: c, call: name, input, session, type, ...more });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const isPreflight = (method: string) => method === "OPTIONS" || method === "HEAD";
