import { newKey } from "@parlance/wire";
import { rememberFor } from "./follow.js";
import { Members, type MembersOptions } from "./members.js";
import type { Answer, Packet } from "./packet.js";
import type { Wiring } from "./publish.js";
import { type Query, query, unanswered } from "./query.js";
import { subscribe } from "./subscriptions.js";

/** Not every server has answered. */
const UNANSWERED: Answer = { is: "unanswered" };

interface ServersOptions {
  readonly wiring: Wiring;
  readonly protocol: string;
  /** Receives what is sent to this server alone, and to all. */
  readonly receive: (packet: Packet) => void;
  /** Called when such packets may have been missed. */
  readonly onInterrupted: () => void;
  readonly owing: MembersOptions["owing"];
  readonly onBye: MembersOptions["onBye"];
}

/** Sends and answers what the servers of a deployment ask each other about more than one session. */
export class Servers {
  /** This server's inbox, by which the others name it. */
  readonly me: string;
  readonly #topic: string;
  readonly #options: ServersOptions;
  readonly #members: Members;
  readonly #queries: Query<Answer>;
  #listening: Promise<void> | undefined;

  constructor(options: ServersOptions) {
    const { wiring, protocol, owing, onBye } = options;
    this.me = `${protocol}/server/${newKey()}`;
    this.#topic = `${protocol}/servers`;
    this.#options = options;
    this.#members = new Members({ wiring, me: this.me, topic: this.#topic, owing, onBye });
    this.#queries = query<Answer>(wiring.limits, wiring.root, UNANSWERED);
  }

  /** Resolves when packets are received. */
  listen(): Promise<void> {
    const { wiring, receive } = this.#options;
    const onInterrupted = (): void => {
      // The first try may have failed, and a later one has not.
      this.#listening = Promise.resolve();
      this.#queries.interrupted();
      this.#members.greet();
      this.#options.onInterrupted();
    };
    const take = (packet: Packet): void => {
      if (packet.type === "hello" || packet.type === "bye") this.#members.receive(packet);
      else if (packet.type === "answer") this.note(packet.id, packet.answer, packet.from);
      else receive(packet);
    };
    const options = { scope: wiring.root, receive: take, onInterrupted };
    this.#listening ??= Promise.all(
      [this.me, this.#topic].map((topic) => subscribe<Packet>(wiring, { topic, ...options })),
    ).then(() => this.#members.greet());
    return this.#listening;
  }

  /** Asks every server that follows a session. Rejects where one does not answer. */
  async ask(key: string, topic: string, packet: (id: string) => Packet): Promise<void> {
    await this.listen();
    const answer = await this.#queries.askOnce((id) => this.#options.wiring.publish(topic, packet(id)));
    if (answer === UNANSWERED) throw unanswered(`session ${key}`);
  }

  /** Asks every server for an ask of a session. Rejects where one that is known does not answer: it may hold the ask, or have settled it. */
  askAll(key: string, packet: (id: string) => Packet): Promise<Answer | undefined> {
    return this.#askAll(`session ${key}`, packet);
  }

  /** Says something that every server confirms. Rejects where one that is known does not. */
  async confirm(what: string, packet: (id: string) => Packet): Promise<void> {
    await this.#askAll(what, packet);
  }

  async #askAll(what: string, packet: (id: string) => Packet): Promise<Answer | undefined> {
    await this.listen();
    const publish = (id: string): Promise<number> => this.#options.wiring.publish(this.#topic, packet(id));
    // As long as an end is surely remembered.
    const within = rememberFor(this.#options.wiring.limits) / 2;
    const answer = await this.#queries.ask(publish, (answered) => this.isMissing(answered, within));
    if (answer === UNANSWERED) throw unanswered(what);
    return answer;
  }

  /** Notes an answer to a question; undefined says that a server has nothing. */
  note(id: string, answer?: Answer, from?: string): void {
    this.#queries.note(id, answer, from);
  }

  /** Whether a server that may come back is not among those that have answered, of which none had what was asked for. */
  isMissing(answered: ReadonlySet<string>, within: number): boolean {
    return this.#members.isMissing(answered, within);
  }

  /** Whether pub/sub was interrupted lately: others may not receive questions yet. */
  unsure(): boolean {
    return this.#queries.unsure();
  }
}
