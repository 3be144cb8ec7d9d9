import { newKey } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Accepted, Asked, Found, LocalChannels, RemoteChannels, Shown } from "../ports.js";
import type { Wiring } from "./publish.js";
import { type Query, query, unanswered } from "./query.js";
import type { Servers } from "./servers.js";
import { subscribe } from "./subscriptions.js";
import { joinPorts, tunnel } from "./tunnel.js";

/** What servers ask each other about channels. */
type Question =
  | { readonly type: "find"; readonly asked: Asked }
  | { readonly type: "redeem"; readonly shown: Shown; readonly tunnel: string }
  | { readonly type: "cancel"; readonly name: string };

type Answer = { readonly found: Found } | { readonly done: true } | { readonly unanswered: true };

/** `from` is the inbox of the server that asks. */
type Packet =
  | (Question & { readonly from: string; readonly id: string })
  | { readonly type: "answer"; readonly id: string; readonly server: string; readonly answer?: Answer }
  /** Announces a server; with `from` it asks the others to do the same. */
  | { readonly type: "hello"; readonly server: string; readonly from?: string };

/** Hexadecimal digits of a ticket that name its server. */
const SERVER = 12;

/** Maximum number of known server names: each restart adds one. */
const MAX_PEERS = 1000;

/** Minimum milliseconds between two hellos, so that guessed tickets cannot flood pub/sub. */
const HELLO_AFTER = 1000;

/** Channels of other servers: a client may ask any server for its channel. */
export class ClusterChannels implements RemoteChannels {
  readonly #wiring: Wiring;
  readonly #local: LocalChannels;
  readonly #servers: Servers;
  /** The topic of all servers. */
  readonly #topic: string;
  readonly server = newKey().slice(0, SERVER);
  readonly #queries: Query<Answer>;
  readonly #peers = new Set<string>();
  #listening: Promise<unknown> | undefined;
  #greeted: Promise<void> | undefined;
  #onPeer = (): void => {};

  constructor(protocol: string, wiring: Wiring, local: LocalChannels, servers: Servers) {
    this.#wiring = wiring;
    this.#local = local;
    this.#servers = servers;
    this.#topic = `${protocol}/channels`;
    // A server that is gone is counted until pub/sub notices, and has taken its channels with it.
    this.#queries = query<Answer>(wiring.limits, wiring.root, { unanswered: true }, undefined);
  }

  /** While pub/sub is down, other servers cannot find the conversation. */
  listen(): Promise<unknown> {
    this.#listening ??= Promise.all(
      [this.#topic, this.#inboxOf(this.server)].map((topic) =>
        subscribe<Packet>(this.#wiring, {
          topic,
          scope: this.#wiring.root,
          receive: (packet) => void this.#receive(packet).catch((error) => this.#wiring.report(error)),
          onInterrupted: () => this.#queries.interrupted(),
        }).catch(() => {}),
      ),
    );
    return this.#listening;
  }

  async find(asked: Asked): Promise<Found | undefined> {
    const answer = await this.#askAll({ type: "find", asked });
    return answer && "found" in answer ? answer.found : undefined;
  }

  async redeem(server: string, shown: Shown, call: Scope): Promise<Accepted | undefined> {
    if (server === this.server || !(await this.#isPeer(server))) return undefined;
    const { limits } = this.#wiring;
    const name = `${this.#topic}/${newKey()}`;
    const scope = call.child();
    try {
      const ends = { here: `${name}/s`, there: `${name}/c` };
      const far = await tunnel({ wiring: this.#wiring, scope, ...ends, end: "socket" });
      const answer = await this.#ask(this.#inboxOf(server), { type: "redeem", shown, tunnel: name });
      if (!answer) {
        scope.close();
        return undefined;
      }
      const opened = scope.timeout(limits.socketWithin, () => scope.close());
      return {
        run(socket) {
          opened();
          joinPorts(socket, far, limits);
          scope.add(() => call.close());
        },
      };
    } catch (error) {
      scope.close(error);
      throw error;
    }
  }

  async cancel(name: string): Promise<boolean> {
    return (await this.#askAll({ type: "cancel", name })) !== undefined;
  }

  #inboxOf(server: string): string {
    return `${this.#topic}/${server}`;
  }

  async #receive(packet: Packet): Promise<void> {
    if (packet.type === "answer") return this.#queries.note(packet.id, packet.answer, packet.server);
    if (packet.type === "hello") return this.#meet(packet.server, packet.from);
    const answer = (answer?: Answer): void =>
      this.#wiring.mention(packet.from, {
        type: "answer",
        id: packet.id,
        server: this.#servers.me,
        ...(answer && { answer }),
      } satisfies Packet);
    if (packet.type === "find") {
      const found = this.#local.find(packet.asked);
      return answer(found && { found });
    }
    if (packet.type === "cancel") return answer(this.#local.cancel(packet.name) ? { done: true } : undefined);
    const take = this.#local.take(packet.shown);
    if (!take) return answer();
    const ends = { here: `${packet.tunnel}/c`, there: `${packet.tunnel}/s` };
    const scope = this.#wiring.root.child();
    try {
      const near = await tunnel({ wiring: this.#wiring, scope, ...ends, end: "conversation" });
      answer({ done: true });
      take(near);
    } catch (error) {
      scope.close(error);
      answer();
    }
  }

  #meet(server: string, from: string | undefined): void {
    if (server === this.server) return;
    this.#peers.add(server);
    if (this.#peers.size > MAX_PEERS) this.#peers.delete(this.#peers.values().next().value!);
    this.#onPeer();
    if (from) this.#wiring.mention(from, { type: "hello", server: this.server } satisfies Packet);
  }

  async #ask(
    topic: string,
    question: Question,
    isMissing?: (answered: ReadonlySet<string>) => boolean,
  ): Promise<Answer | undefined> {
    await this.listen();
    const from = this.#inboxOf(this.server);
    const publish = (id: string) => this.#wiring.publish(topic, { ...question, from, id } satisfies Packet);
    return this.#queries.ask(publish, isMissing);
  }

  /** Asks every server. Rejects where one may have the channel that is away for a moment. */
  async #askAll(question: Question): Promise<Answer | undefined> {
    const { interruptedFor } = this.#wiring.limits;
    const answer = await this.#ask(this.#topic, question, (answered) =>
      this.#servers.isMissing(answered, interruptedFor),
    );
    if (answer && "unanswered" in answer) throw unanswered("a channel");
    return answer;
  }

  /**
   * Whether a server of this name is running. Says hello for unknown names at most once per `HELLO_AFTER`, and again after an interruption of
   * pub/sub, because the others may not have heard it yet.
   */
  async #isPeer(name: string): Promise<boolean> {
    await this.listen();
    for (;;) {
      if (this.#peers.has(name)) return true;
      this.#greeted ??= this.#greet();
      await this.#greeted;
      if (this.#peers.has(name) || !this.#queries.unsure()) return this.#peers.has(name);
      await new Promise<void>((resolve) => this.#wiring.root.timeout(HELLO_AFTER, resolve));
    }
  }

  async #greet(): Promise<void> {
    const { root, limits, publish } = this.#wiring;
    root.timeout(HELLO_AFTER, () => {
      this.#greeted = undefined;
    });
    let answers = 0;
    let reached = Number.POSITIVE_INFINITY;
    // Each of the others answers once; this server does not.
    const all = new Promise<void>((resolve) => {
      this.#onPeer = () => {
        if (++answers >= reached - 1) resolve();
      };
      root.timeout(limits.queryWithin, resolve);
    });
    const hello: Packet = { type: "hello", server: this.server, from: this.#inboxOf(this.server) };
    // Throws on failure, because the ticket may be valid and its client may retry.
    reached = await publish(this.#topic, hello);
    if (answers < reached - 1) await all;
  }
}
