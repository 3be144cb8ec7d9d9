import { type AnyContract, type AnyMessage, newKey, Refusal } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { AnySession, Batch, OpenAskFound, Sent, SessionStore, Subscriber } from "../ports.js";
import { type LocalSessions, SETTLED } from "../session/local.js";
import { type Following, following } from "./follow.js";
import { outbox } from "./outbox.js";
import type { Wiring } from "./publish.js";
import { type Query, query } from "./query.js";
import { subscribe } from "./subscriptions.js";

/** What servers send to each other about sessions. `from` is the sender's inbox. */
type Packet =
  /** On the session's topic: asks for its readers elsewhere, and names those that are here. */
  | { readonly type: "who"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
  /** These readers are here: on the topic when they come, to an inbox as the answer to "who". */
  | { readonly type: "reads"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
  | { readonly type: "left"; readonly reader: string }
  /** `count` grows with every packet of one server: pub/sub that lost its connection may bring one again. */
  | {
      readonly type: "messages";
      readonly key: string;
      readonly from: string;
      readonly reader: string;
      readonly count: number;
      readonly messages: readonly AnyMessage[];
    }
  | {
      readonly type: "find" | "settle";
      readonly key: string;
      readonly from: string;
      readonly id: string;
      readonly reply: AnyMessage;
    }
  | { readonly type: "answer"; readonly id: string; readonly answer?: Answer | undefined }
  | { readonly type: "end"; readonly key: string; readonly from: string };

type Answer = { readonly is: "decided" | "settled" } | { readonly is: "found"; readonly message: AnyMessage };

interface Reader {
  readonly key: string;
  readonly subscriber: Subscriber;
  /** The last packet that each server has sent it. */
  readonly counts: Map<string, number>;
}

/**
 * Sessions that several servers hold together. A reader on another server is a subscriber like any other here, whose messages go
 * through pub/sub. An ask stays on the server that made it, and the others ask that server.
 */
export class ClusterSessions implements SessionStore {
  readonly #name: string;
  readonly #wiring: Wiring;
  readonly #local: LocalSessions;
  readonly #followed: Following;
  /** The topic of this server alone. */
  readonly #me: string;
  /** Operations that answer an ask. */
  readonly #answering: ReadonlySet<string>;
  /** Readers that are here, by the names that the others know them by. */
  readonly #readers = new Map<string, Reader>();
  /** Readers that are elsewhere. */
  readonly #distant = new Map<string, Scope>();
  readonly #queries: Query<Answer>;
  #inbox: Promise<void> | undefined;
  #count = 0;

  constructor(
    { name, exchanges = [] }: AnyContract,
    wiring: Wiring,
    makeLocal: (onIdle: (key: string) => void) => LocalSessions,
  ) {
    this.#name = name;
    this.#wiring = wiring;
    this.#me = `${name}/server/${newKey()}`;
    this.#local = makeLocal((key) => this.#followed.leave(key));
    this.#answering = new Set(exchanges.flatMap(({ answers }) => answers.flatMap(({ operation }) => operation ?? [])));
    this.#queries = query<Answer>(wiring.limits, wiring.root);
    this.#followed = following<Packet>(wiring, {
      topicOf: (key) => this.#topicOf(key),
      receive: (packet) => this.#receive(packet),
      introduce: (key) => this.#introduce(key),
      ready: () => this.#listen(),
    });
  }

  session(key: string): AnySession {
    const { send, ask } = this.#local.session(key);
    return {
      send: (message) => {
        send(message);
        this.#followed.follow(key);
      },
      ask: (message, options) => {
        const answer = ask(message, options);
        this.#followed.follow(key);
        return answer;
      },
    };
  }

  subscribe(key: string, subscriber: Subscriber, scope: Scope): void {
    if (scope.closed) return;
    const name = newKey();
    this.#local.subscribe(key, subscriber, scope);
    this.#readers.set(name, { key, subscriber, counts: new Map() });
    scope.add(() => {
      this.#readers.delete(name);
      this.#mention(this.#topicOf(key), { type: "left", reader: name });
    });
    // A session that is followed only now introduces all its readers.
    if (!this.#followed.follow(key))
      this.#mention(this.#topicOf(key), { type: "reads", key, from: this.#me, readers: [name] });
  }

  requeue(key: string, messages: readonly Sent[]): void {
    try {
      this.#local.requeue(key, messages);
      this.#followed.follow(key);
    } catch (error) {
      // More than may wait for a session without a reader.
      this.#wiring.report(error);
    }
  }

  find(key: string, reply: AnyMessage): OpenAskFound | undefined | Promise<OpenAskFound | undefined> {
    const found = this.#local.find(key, reply);
    if (found || !this.#answering.has(reply.type)) return found;
    return this.#inquire("find", key, reply).then((answer) => {
      if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
      return answer?.is === "found" ? answer : undefined;
    });
  }

  settle(key: string, reply: AnyMessage): void | Promise<void> {
    if (this.#local.find(key, reply)) return this.#local.settle(key, reply);
    return this.#inquire("settle", key, reply).then((answer) => {
      if (answer?.is !== "settled") throw new Refusal(SETTLED, { status: 409 });
    });
  }

  end(key: string): void {
    this.#local.end(key);
    this.#mention(this.#topicOf(key), { type: "end", key, from: this.#me });
  }

  #topicOf(key: string): string {
    return `${this.#name}/session/${key}`;
  }

  #mention(topic: string, packet: Packet): void {
    this.#wiring.mention(topic, packet);
  }

  /** Receives what is sent to this server alone. */
  #listen(): Promise<void> {
    const onInterrupted = (): void => {
      // The first try may have failed, and a later one has not.
      this.#inbox = Promise.resolve();
      this.#queries.interrupted();
      for (const key of this.#followed.keys()) this.#introduce(key);
    };
    this.#inbox ??= subscribe<Packet>(this.#wiring, {
      topic: this.#me,
      scope: this.#wiring.root,
      receive: (packet) => this.#receive(packet),
      onInterrupted,
    });
    return this.#inbox;
  }

  #readersOf(key: string): string[] {
    return [...this.#readers].filter(([, reader]) => reader.key === key).map(([name]) => name);
  }

  #introduce(key: string): void {
    this.#mention(this.#topicOf(key), { type: "who", key, from: this.#me, readers: this.#readersOf(key) });
  }

  #receive(packet: Packet): void {
    if ("from" in packet && packet.from === this.#me && packet.type !== "find" && packet.type !== "settle") return;
    switch (packet.type) {
      case "who":
      case "reads": {
        const { key, from } = packet;
        for (const reader of packet.readers) this.#meet(key, reader, from);
        const readers = packet.type === "who" ? this.#readersOf(key) : [];
        if (readers.length > 0) this.#mention(from, { type: "reads", key, from: this.#me, readers });
        break;
      }
      case "left":
        this.#distant.get(packet.reader)?.close();
        break;
      case "messages":
        this.#deliver(packet);
        break;
      case "find":
      case "settle": {
        const answer = this.#answerFor(packet.type, packet.key, packet.reply);
        this.#mention(packet.from, { type: "answer", id: packet.id, answer });
        break;
      }
      case "answer":
        this.#queries.note(packet.id, packet.answer);
        break;
      case "end":
        this.#local.end(packet.key);
        break;
    }
  }

  /** A reader on another server gets what is sent here from now on, and first what waits and what is open. */
  #meet(key: string, reader: string, from: string): void {
    const session = this.#followed.get(key);
    if (this.#distant.has(reader) || !session) return;
    const { limits, publish } = this.#wiring;
    this.#followed.stay(key);
    const scope = session.scope.child("readers");
    this.#distant.set(reader, scope);
    const batches = new WeakMap<AnyMessage, Batch>();
    scope.add(() => {
      if (this.#distant.get(reader) === scope) this.#distant.delete(reader);
    });
    const out = outbox({
      limit: limits.maxQueued,
      publish: (messages) => {
        const packet: Packet = { type: "messages", key, from: this.#me, reader, count: ++this.#count, messages };
        return publish(from, packet);
      },
      // Its server is gone: what was on the way waits for the next reader.
      onLost: (messages) => {
        if (scope.closed) return;
        scope.close();
        this.requeue(
          key,
          messages.map((message) => ({ message, batch: batches.get(message) })),
        );
        // It may have reconnected before we noticed the loss.
        this.#introduce(key);
      },
    });
    scope.measure("queued", () => out.size);
    const send = (message: AnyMessage, batch: Batch): void => {
      // The sender's mistake must not reach a reader on another server.
      this.#local.check(message, batch);
      batches.set(message, batch);
      out.send(message);
    };
    this.#local.subscribe(key, { end: () => scope.close(), send }, scope);
  }

  #deliver({ key, from, reader, count, messages }: Extract<Packet, { type: "messages" }>): void {
    const here = this.#readers.get(reader);
    if (!here)
      return this.requeue(
        key,
        messages.map((message) => ({ message })),
      );
    if (count <= (here.counts.get(from) ?? 0)) return;
    here.counts.set(from, count);
    for (const message of messages) here.subscriber.send(message, this.#local.batch());
  }

  #answerFor(what: "find" | "settle", key: string, reply: AnyMessage): Answer | undefined {
    try {
      const found = this.#local.find(key, reply);
      if (!found) return undefined;
      if (what === "find") return { is: "found", message: found.message };
      this.#local.settle(key, reply);
      return { is: "settled" };
    } catch {
      return { is: "decided" };
    }
  }

  /** Asks every server that has a part in the session. */
  async #inquire(type: "find" | "settle", key: string, reply: AnyMessage): Promise<Answer | undefined> {
    await this.#listen();
    const ask = (id: string) =>
      this.#wiring.publish(this.#topicOf(key), { type, key, from: this.#me, id, reply } satisfies Packet);
    return this.#queries.ask(ask);
  }
}
