import { type AnyContract, type AnyMessage, Disconnected, newKey, Refusal } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { AnySession, Claimed, Sent, SessionStore, Subscriber } from "../ports.js";
import { type LocalSessions, SETTLED } from "../session/local.js";
import { type FollowedSessions, followSessions } from "./follow.js";
import { Inbox } from "./inbox.js";
import { Outbox } from "./outbox.js";
import type { Answer, Packet } from "./packet.js";
import type { Wiring } from "./publish.js";
import { type Query, query } from "./query.js";
import { subscribe } from "./subscriptions.js";

/** A reader on another server. */
interface Distant {
  readonly scope: Scope;
  readonly out: Outbox;
}

/** Queries, which a server answers also where it asks itself. */
const ASKED: ReadonlySet<Packet["type"]> = new Set(["find", "settle", "owed", "owes"]);
/** Not every server has answered. */
const UNANSWERED: Answer = { is: "unanswered" };

/**
 * Sessions shared by several servers. A reader on another server is a subscriber like any other, reached through pub/sub. A message
 * stays with the server that it was sent on until a reader anywhere has it, so each reader gets it once and in that server's order. An
 * ask stays there too, and the other servers query that server.
 */
export class ClusterSessions implements SessionStore {
  readonly #name: string;
  readonly #wiring: Wiring;
  readonly #local: LocalSessions;
  readonly #followed: FollowedSessions;
  /** This server's own topic. */
  readonly #me: string;
  /** Operations that answer an ask. */
  readonly #answering: ReadonlySet<string>;
  readonly #inbox: Inbox;
  /** Messages of sessions that have ended lately, which no reader had confirmed. */
  readonly #left = new Map<string, readonly Sent[]>();
  /** Readers on other servers. */
  readonly #distant = new Map<string, Distant>();
  readonly #queries: Query<Answer>;
  #listening: Promise<void> | undefined;

  constructor(
    { name, exchanges = [] }: AnyContract,
    wiring: Wiring,
    makeLocal: (onIdle: (key: string) => void) => LocalSessions,
  ) {
    this.#name = name;
    this.#wiring = wiring;
    this.#me = `${name}/server/${newKey()}`;
    this.#local = makeLocal((key) => this.#followed.unsubscribe(key));
    this.#answering = new Set(exchanges.flatMap(({ answers }) => answers.flatMap(({ operation }) => operation ?? [])));
    this.#queries = query<Answer>(wiring.limits, wiring.root, UNANSWERED);
    this.#inbox = new Inbox(
      wiring,
      (key) => this.#followed.get(key)?.scope,
      (key, readers) => void this.#inquireOwed(key, readers),
    );
    this.#followed = followSessions<Packet>(wiring, {
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
        const room = send(message);
        this.#followed.follow(key);
        return room;
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
    this.#inbox.add(name, key, subscriber, scope);
    scope.add(() => this.#mention(this.#topicOf(key), { type: "left", reader: name }));
    // A newly followed session introduces all its readers.
    if (!this.#followed.follow(key))
      this.#insist(this.#topicOf(key), { type: "reads", key, from: this.#me, readers: [name] }, scope);
  }

  attend(key: string, onEnd: () => void, scope: Scope): () => void {
    return this.#local.attend(key, onEnd, scope);
  }

  claim(key: string, reply: AnyMessage): Claimed | undefined | Promise<Claimed | undefined> {
    const found = this.#local.claim(key, reply);
    if (found || !this.#answering.has(reply.type)) return found;
    return this.#inquire("find", key, reply).then((answer) => {
      if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
      return answer?.is === "found" ? answer : undefined;
    });
  }

  settle(key: string, reply: AnyMessage): void | Promise<void> {
    if (this.#local.find(key, reply)) return this.#local.settle(key, reply);
    return this.#inquire("settle", key, reply).then((answer) => {
      if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
      // The server that has the ask was there a moment ago: its subscription is interrupted, or it is gone.
      if (answer?.is !== "settled") throw unanswered(key);
    });
  }

  end(key: string): void {
    this.#endHere(key);
    this.#insist(this.#topicOf(key), { type: "end", key, from: this.#me }, this.#followed.get(key)?.scope);
  }

  /** Ends a session here. What no reader has confirmed is kept for those on other servers. */
  #endHere(key: string): void {
    const left = this.#local.unconfirmed(key);
    if (left.length > 0) {
      this.#left.set(key, left);
      this.#wiring.root.timeout(this.#wiring.limits.interruptedFor, () => {
        if (this.#left.get(key) === left) this.#left.delete(key);
      });
    }
    this.#local.end(key, () => this.#inbox.end(key));
  }

  /** Asks every server what it owes readers whose session has ended. */
  async #inquireOwed(key: string, readers: readonly string[]): Promise<void> {
    const ask = (id: string) =>
      this.#wiring.publish(this.#topicOf(key), { type: "owed", key, from: this.#me, id, readers } satisfies Packet);
    const answer = await this.#listen()
      .then(() => this.#queries.ask(ask))
      .catch(() => UNANSWERED);
    this.#inbox.asked(readers, answer !== UNANSWERED);
  }

  /** Sends readers the rest of a session that has ended, and its end. Returns those that get more than that they have. */
  #give(key: string, readers: readonly string[], from: string): readonly string[] {
    const left = this.#left.get(key) ?? this.#local.unconfirmed(key);
    return readers.filter((reader) => {
      if (left.length > 0 && !this.#distant.has(reader)) this.#open(key, reader, from);
      const out = this.#distant.get(reader)?.out;
      for (const sent of left) void out?.send(sent, true);
      out?.finish();
      return out !== undefined;
    });
  }

  #topicOf(key: string): string {
    return `${this.#name}/session/${key}`;
  }

  #mention(topic: string, packet: Packet): void {
    this.#wiring.mention(topic, packet);
  }

  #insist(topic: string, packet: Packet, scope = this.#wiring.root): void {
    this.#wiring.insist(topic, packet, scope);
  }

  /** Receives what is sent to this server alone. */
  #listen(): Promise<void> {
    const onInterrupted = (): void => {
      // The first try may have failed, and a later one has not.
      this.#listening = Promise.resolve();
      this.#queries.interrupted();
      for (const key of this.#followed.keys()) this.#introduce(key);
    };
    this.#listening ??= subscribe<Packet>(this.#wiring, {
      topic: this.#me,
      scope: this.#wiring.root,
      receive: (packet) => this.#receive(packet),
      onInterrupted,
    });
    return this.#listening;
  }

  #introduce(key: string): void {
    const session = this.#followed.get(key);
    const packet: Packet = { type: "who", key, from: this.#me, readers: this.#inbox.namesOf(key) };
    if (session) this.#insist(this.#topicOf(key), packet, session.scope);
  }

  #receive(packet: Packet): void {
    if ("from" in packet && packet.from === this.#me && !ASKED.has(packet.type)) return;
    switch (packet.type) {
      case "who":
      case "reads": {
        const { key, from } = packet;
        for (const reader of packet.readers) this.#meet(key, reader, from);
        const readers = packet.type === "who" ? this.#inbox.namesOf(key) : [];
        const scope = this.#followed.get(key)?.scope;
        if (readers.length > 0) this.#insist(from, { type: "reads", key, from: this.#me, readers }, scope);
        for (const reader of readers) this.#inbox.confirm(key, from, reader);
        break;
      }
      case "left":
        this.#distant.get(packet.reader)?.scope.close();
        break;
      case "messages":
        this.#inbox.deliver(packet);
        break;
      case "received":
        this.#distant.get(packet.reader)?.out.received(packet.place);
        this.#local.confirm(packet.key, packet.had);
        break;
      case "find":
      case "settle": {
        const answer = this.#answerFor(packet.type, packet.key, packet.reply);
        this.#mention(packet.from, { type: "answer", id: packet.id, answer });
        break;
      }
      case "owed": {
        const { key, from, id, readers } = packet;
        const owed = from === this.#me ? [] : this.#give(key, readers, from);
        this.#mention(from, { type: "owes", key, id, from: this.#me, readers: owed });
        break;
      }
      case "owes":
        this.#inbox.owes(packet.key, packet.from, packet.readers);
        this.#queries.note(packet.id, undefined);
        break;
      case "answer":
        this.#queries.note(packet.id, packet.answer);
        break;
      case "end":
        this.#endHere(packet.key);
        break;
    }
  }

  /** Subscribes a reader on another server: unconfirmed messages and open asks first, then new messages. */
  #meet(key: string, reader: string, from: string): void {
    const known = this.#distant.get(reader);
    if (known) return known.out.repeat();
    const session = this.#followed.get(key);
    if (!session) return;
    this.#followed.stay(key);
    const { scope, out } = this.#open(key, reader, from);
    let joining = true;
    const send = (sent: Sent): Promise<void> | undefined => {
      // The sender's mistake must not reach a reader on another server.
      this.#local.check(sent.message, sent);
      return out.send(sent, joining);
    };
    this.#local.subscribe(key, { end: () => out.finish(), send }, scope);
    joining = false;
  }

  /** Begins to send to a reader on another server. */
  #open(key: string, reader: string, from: string): Distant {
    const { limits, publish, root } = this.#wiring;
    const scope = (this.#followed.get(key)?.scope ?? root).child("readers");
    const begin = this.#local.confirmed(key);
    const out = new Outbox({
      scope,
      limits,
      publish: (sent, { first, last }) => {
        const messages = sent.map(({ place, message }) => [place, message] as const);
        const packet: Packet = { type: "messages", key, from: this.#me, reader, messages };
        return publish(from, { ...packet, ...(first && { begin }), ...(last && { last }) });
      },
      onLost: () => {
        scope.close();
        // It may have reconnected before we noticed the loss.
        this.#introduce(key);
      },
    });
    const distant: Distant = { scope, out };
    this.#distant.set(reader, distant);
    scope.add(() => {
      if (this.#distant.get(reader) === distant) this.#distant.delete(reader);
    });
    scope.measure("queued", () => out.size);
    return distant;
  }

  #answerFor(what: "find" | "settle", key: string, reply: AnyMessage): Answer | undefined {
    try {
      // Not while a call of this server decides it.
      if (what === "find") this.#local.claim(key, reply)?.release?.();
      const found = this.#local.find(key, reply);
      if (!found) return undefined;
      if (what === "find") return { is: "found", message: found.ask.message };
      this.#local.settle(key, reply);
      return { is: "settled" };
    } catch {
      return { is: "decided" };
    }
  }

  /** Queries every server that follows the session. Rejects where one does not answer: it may hold the ask, or have settled it. */
  async #inquire(type: "find" | "settle", key: string, reply: AnyMessage): Promise<Answer | undefined> {
    await this.#listen();
    const ask = (id: string) =>
      this.#wiring.publish(this.#topicOf(key), { type, key, from: this.#me, id, reply } satisfies Packet);
    const answer = await this.#queries.ask(ask);
    if (answer !== UNANSWERED) return answer;
    throw unanswered(key);
  }
}

function unanswered(key: string): Disconnected {
  return new Disconnected(`a server did not answer for session ${key}`, { code: "timeout", retryable: true });
}
