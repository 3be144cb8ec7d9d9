import { type AnyContract, type AnyMessage, newKey } from "@parlance/wire";
import { valueAt } from "@parlance/wire/internal/pointer";
import { type Scope, until } from "@parlance/wire/scope";
import type { AnySession, Claimed, LocalStore, SessionStore, Subscriber } from "../ports.js";
import { Decisions } from "./decisions.js";
import { DistantReaders } from "./distant.js";
import { type FollowedSessions, followSessions, onceSaid, rememberFor } from "./follow.js";
import { Inbox } from "./inbox.js";
import type { Ends, Packet } from "./packet.js";
import type { Wiring } from "./publish.js";
import { Servers } from "./servers.js";

/** Questions, which a server answers also where it asks itself. */
const ASKED: ReadonlySet<Packet["type"]> = new Set(["who", "find", "settle", "owed", "owes", "revoke"]);

/**
 * Sessions shared by several servers. A reader on another server is a subscriber like any other, reached through pub/sub. A message
 * stays with the server that it was sent on until a reader anywhere has it, so each reader gets it once and in that server's order. An
 * ask stays there too, and the other servers query that server.
 *
 * The end of a session is no message that may be missed: each server counts its ends, and says them whenever it introduces itself or is
 * asked. A server that has joined ends its readers for each end that is new to it, after what every server has for them. Those of which it
 * learns while it joins were before: nobody reads here yet.
 */
export class ClusterSessions implements SessionStore {
  readonly #name: string;
  /** The property of a decision that names its session. */
  readonly #property: string | undefined;
  readonly #wiring: Wiring;
  readonly #local: LocalStore;
  readonly #followed: FollowedSessions;
  readonly servers: Servers;
  readonly #decisions: Decisions;
  readonly #inbox: Inbox;
  readonly #distant: DistantReaders;
  /** Ends what an owner holds on this server. */
  readonly #onRevoke: (owner: string) => void;
  /** How often this server has ended a session. */
  #ended = 0;

  constructor(
    { name, session, exchanges = [] }: AnyContract,
    wiring: Wiring,
    makeLocal: (onIdle: (key: string) => void) => LocalStore,
    onRevoke: (owner: string) => void,
  ) {
    this.#onRevoke = onRevoke;
    this.#name = name;
    const isKey = exchanges.some(({ key, answers }) => [key, ...answers.map(({ key }) => key)].includes(session));
    this.#property = isKey ? undefined : session;
    this.#wiring = wiring;
    this.servers = new Servers({
      wiring,
      protocol: name,
      receive: (packet) => this.#receive(packet),
      onInterrupted: () => {
        for (const key of this.#followed.keys()) void this.#introduce(key);
      },
      owing: () => this.#distant.owing(),
      onBye: (server, owing) => {
        for (const key of this.#followed.keys()) this.#followed.get(key)!.servers.delete(server);
        this.#inbox.depart(server, owing);
      },
    });
    const { me } = this.servers;
    const answering = new Set(exchanges.flatMap(({ answers }) => answers.flatMap(({ operation }) => operation ?? [])));
    this.#local = makeLocal((key) => this.#followed.unsubscribe(key));
    this.#decisions = new Decisions({
      local: this.#local,
      answering,
      inquire: (type, key, reply) =>
        this.servers.askAll(key, (id) => ({ type, key, from: me, id, reply: this.#shown(reply, undefined, key) })),
    });
    this.#inbox = new Inbox(
      wiring,
      (key) => this.#followed.get(key),
      (key, readers) => void this.#inquireOwed(key, readers),
    );
    this.#followed = followSessions<Packet>(wiring, {
      topicOf: (key) => this.#topicOf(key),
      receive: (packet) => this.#receive(packet),
      ask: (key) => this.#inquire(key, (id) => this.#known("who", key, [], id)),
      introduce: (key, asked) => this.#introduce(key, asked),
      ready: () => this.servers.listen(),
      lose: (key) => this.#inbox.lose(key),
    });
    this.#distant = new DistantReaders({
      me,
      wiring,
      local: this.#local,
      followed: this.#followed,
      onLost: (key) => void this.#introduce(key),
    });
    // Now, so that the others know of this server before they miss it. What fails is reported, and tried again.
    this.servers.listen().catch(() => {});
  }

  session(key: string, id: string): AnySession {
    const { send, ask } = this.#local.session(key);
    return {
      send: (message) => {
        const room = send(message);
        const { joined, joining } = this.#followed.follow(key);
        return joined ? room : joining.then(() => room);
      },
      ask: (message, options) => {
        const answer = ask(message, options);
        this.#followed.follow(key);
        return answer.then((reply) => this.#shown(reply, key, id));
      },
    };
  }

  ask(...asked: Parameters<SessionStore["ask"]>): Promise<AnyMessage> {
    return this.#local.ask(...asked);
  }

  joined(key: string): Promise<unknown> | undefined {
    return this.#followed.get(key)?.joining;
  }

  subscribe(key: string, subscriber: Subscriber, scope: Scope): void {
    if (scope.closed) return;
    const name = newKey();
    this.#local.subscribe(key, subscriber, scope);
    this.#inbox.add(name, key, subscriber, scope);
    scope.add(() => this.#mention(this.#topicOf(key), { type: "left", reader: name }));
    const session = this.#followed.follow(key);
    // When it joins it introduces all its readers.
    if (!session.joined) return;
    const introduced = this.#say(key, [name], scope);
    session.joining = until(scope.child(), this.#wiring.limits.interruptedFor, introduced);
  }

  attend(key: string, onEnd: () => void, scope: Scope): () => void {
    return this.#local.attend(key, onEnd, scope);
  }

  claim(key: string, reply: AnyMessage): Claimed | undefined | Promise<Claimed | undefined> {
    return this.#decisions.claim(key, reply);
  }

  settle(key: string, reply: AnyMessage): void | Promise<void> {
    return this.#decisions.settle(key, reply);
  }

  end(key: string): void {
    const session = this.#followed.follow(key);
    session.ends.set(this.servers.me, ++this.#ended);
    session.saidAt = Number.POSITIVE_INFINITY;
    this.#endHere(key, []);
    void this.#introduce(key);
  }

  revoke(owner: string): Promise<void> {
    return this.servers.confirm("a revoke", (id) => ({ type: "revoke", from: this.servers.me, id, owner }));
  }

  /** A decision with another id of its session: pub/sub carries the session's name in place of its key, which may be a secret. */
  #shown(reply: AnyMessage, from: string | undefined, to: string): AnyMessage {
    const session = this.#property;
    const id = session === undefined ? undefined : valueAt(reply, [session]);
    return id === undefined || (from !== undefined && id !== from) ? reply : { ...reply, [session!]: to };
  }

  /** Learns how often others have ended a session. */
  #learn(key: string, ends: Ends): void {
    const session = this.#followed.get(key);
    if (!session) return;
    const newer = ends.filter(([server, count]) => count > (session.ends.get(server) ?? 0));
    for (const [server, count] of newer) session.ends.set(server, count);
    if (newer.length > 0 && session.joined)
      this.#endHere(
        key,
        newer.map(([server]) => server),
      );
  }

  /** Ends a session here. What no reader has confirmed is kept for those on other servers. */
  #endHere(key: string, enders: readonly string[]): void {
    const session = this.#followed.get(key);
    if (session) {
      const [begin, sent] = [this.#local.confirmed(key), this.#local.unconfirmed(key)];
      const rest = { begin: session.rest?.begin ?? begin, sent: [...(session.rest?.sent ?? []), ...sent] };
      session.rest = rest;
      onceSaid(session, rememberFor(this.#wiring.limits), () => {
        if (session.rest === rest) session.rest = undefined;
      });
    }
    this.#local.end(key, () => this.#inbox.end(key, enders));
    this.#followed.unsubscribe(key);
  }

  /** Asks every server to send readers what it still has for them, again and again until they have their end. */
  async #inquireOwed(key: string, readers: readonly string[]): Promise<void> {
    const { root, limits } = this.#wiring;
    const began = performance.now();
    while (this.#inbox.isWaiting(readers)) {
      // Others may be interrupted as this server was. Interruptions that go on do not put the end off.
      const sure = !this.servers.unsure() || performance.now() - began > limits.interruptedFor / 2;
      const answered = await this.#inquire(key, (id) => this.#owed(key, readers, id)).then(
        () => true,
        () => false,
      );
      this.#inbox.asked(readers, answered, sure);
      const pause = Math.min(limits.queryWithin, limits.interruptedFor / 4);
      await new Promise<void>((resolve) => root.timeout(pause, resolve));
      // One that no longer follows the session hears only what is sent to itself.
      for (const server of this.#inbox.owedBy(readers)) this.#mention(server, this.#owed(key, readers));
    }
  }

  #topicOf(key: string): string {
    return `${this.#name}/session/${key}`;
  }

  #mention(topic: string, packet: Packet): void {
    this.#wiring.mention(topic, packet);
  }

  #insist(topic: string, packet: Packet, scope = this.#wiring.root): Promise<void> {
    return this.#wiring.insist(topic, packet, scope);
  }

  /** What this server knows of a session. */
  #known(type: "who" | "reads", key: string, readers: readonly string[], id?: string): Packet {
    return { type, key, from: this.servers.me, readers, ends: [...(this.#followed.get(key)?.ends ?? [])], id };
  }

  /** Asks a server to send readers what it still has for them. */
  #owed(key: string, readers: readonly string[], id = ""): Packet {
    return { type: "owed", key, from: this.servers.me, id, readers };
  }

  /** Tells all servers what this one knows of a session that it has joined. `asked` says that they know of it. */
  async #introduce(key: string, asked = false): Promise<void> {
    const session = this.#followed.get(key);
    if (!session?.joined) return;
    const { reading, ending } = this.#inbox.namesOf(key);
    if (asked && reading.length + session.ends.size === 0) return;
    const introduced = this.#say(key, reading, session.scope);
    if (ending.length > 0) this.#insist(this.#topicOf(key), this.#owed(key, ending), session.scope);
    const said = session.ends.get(this.servers.me);
    await introduced;
    if (session.saidAt > performance.now() && session.ends.get(this.servers.me) === said)
      session.saidAt = performance.now();
  }

  /** Says what this server knows of a session. Resolves once the others have met its readers: what they send then reaches these too. */
  #say(key: string, readers: readonly string[], scope: Scope): Promise<unknown> {
    return this.#inquire(key, (id) => this.#known("who", key, readers, id)).catch(() =>
      this.#insist(this.#topicOf(key), this.#known("who", key, readers), scope),
    );
  }

  /** What another server knows of a session. */
  #meet({ type, key, from, readers, ends, id }: Extract<Packet, { type: "who" | "reads" }>): void {
    if (from !== this.servers.me) this.#learn(key, ends);
    if (id !== undefined && (type === "reads" || from === this.servers.me)) this.servers.note(id);
    if (from === this.servers.me) return;
    const session = this.#followed.get(key);
    session?.servers.add(from);
    const there = new Map(ends);
    // Where it does not know of an end its readers have missed it. Told of that, it asks for the rest.
    const missed = [...(session?.ends ?? [])].some(([server, count]) => count > (there.get(server) ?? 0));
    if (session && !missed) for (const reader of readers) this.#distant.meet(key, reader, from);
    const { reading, ending } = this.#inbox.namesOf(key);
    const scope = session?.scope;
    if (type === "who" || missed) this.#insist(from, this.#known("reads", key, reading, id), scope);
    if (type === "who" && ending.length > 0) this.#insist(from, this.#owed(key, ending), scope);
    if (type === "who") for (const reader of [...reading, ...ending]) this.#inbox.confirm(key, from, reader);
  }

  #receive(packet: Packet): void {
    if ("from" in packet && packet.from === this.servers.me && !ASKED.has(packet.type)) return;
    switch (packet.type) {
      case "who":
      case "reads":
        this.#meet(packet);
        break;
      case "left":
        this.#distant.left(packet.reader);
        break;
      case "messages":
        this.#inbox.deliver(packet);
        break;
      case "received":
        this.#distant.received(packet.reader, packet.place);
        this.#local.confirm(packet.key, packet.had);
        break;
      case "find":
      case "settle": {
        const answer = this.#decisions.answerTo(packet.type, packet.key, packet.reply);
        this.#mention(packet.from, { type: "answer", id: packet.id, from: this.servers.me, answer });
        break;
      }
      case "owed": {
        const { key, from, id, readers } = packet;
        if (from !== this.servers.me) for (const reader of readers) this.#distant.give(key, reader, from);
        this.#mention(from, { type: "owes", key, id, from: this.servers.me });
        break;
      }
      case "revoke":
        this.#onRevoke(packet.owner);
        this.#mention(packet.from, { type: "answer", id: packet.id, from: this.servers.me });
        break;
      case "owes":
        if (packet.from !== this.servers.me) this.#inbox.owes(packet.key, packet.from);
        this.servers.note(packet.id);
        break;
    }
  }

  /** Asks every server that follows the session. */
  #inquire(key: string, packet: (id: string) => Packet): Promise<void> {
    return this.servers.ask(key, this.#topicOf(key), packet);
  }
}
