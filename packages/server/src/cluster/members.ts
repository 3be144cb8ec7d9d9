import { invoke } from "../callback.js";
import type { Wiring } from "./publish.js";

/** What servers tell each other about themselves. `server` is the sender's inbox. */
export type Presence =
  /** With `reply` it asks the others to say hello too. */
  | { readonly type: "hello"; readonly server: string; readonly reply?: boolean }
  | { readonly type: "bye"; readonly server: string; readonly owing: Owing };

/** The last places of a server that has closed, for readers that had not confirmed them. */
export type Owing = readonly (readonly [reader: string, place: number])[];

/** Maximum number of servers that are known at a time: each restart adds one. */
const MAX_MEMBERS = 1000;

export interface MembersOptions {
  readonly wiring: Wiring;
  /** This server's inbox, and the topic of all servers. */
  readonly me: string;
  readonly topic: string;
  /** What nobody has confirmed to this server, which closes. */
  readonly owing: () => Owing;
  /** Called when another one has closed. */
  readonly onBye: (server: string, owing: Owing) => void;
}

/**
 * The servers of a deployment that this one has met. Where one of them does not receive a question, "nobody has it" is no answer: its pub/sub
 * may be away for a moment.
 */
export class Members {
  readonly #options: MembersOptions;
  /** Each of the other servers, and since when it does not answer. */
  readonly #members = new Map<string, number | undefined>();

  constructor(options: MembersOptions) {
    this.#options = options;
    const { wiring, me, topic, owing } = options;
    // Not `mention`, which says nothing of a server that closes.
    wiring.root.add(() => {
      const bye = JSON.stringify({ type: "bye", server: me, owing: owing() } satisfies Presence);
      invoke(() => wiring.lastCalls.add(wiring.pubSub.publish(topic, bye)), wiring.report);
    });
  }

  /** Says hello to all servers, and learns their names. */
  greet(): void {
    const { wiring, me, topic } = this.#options;
    void wiring.insist(topic, { type: "hello", server: me, reply: true } satisfies Presence, wiring.root);
  }

  receive(said: Presence): void {
    const { wiring, me, onBye } = this.#options;
    const { server } = said;
    if (server === me) return;
    this.#members.delete(server);
    if (said.type === "bye") return onBye(server, said.owing);
    this.#members.set(server, undefined);
    if (this.#members.size > MAX_MEMBERS) this.#members.delete(this.#members.keys().next().value!);
    if (said.reply) wiring.mention(server, { type: "hello", server: me } satisfies Presence);
  }

  /** Whether one that may come back is not among those that have answered. After `within` milliseconds without an answer it may not. */
  isMissing(answered: ReadonlySet<string>, within: number): boolean {
    const now = performance.now();
    for (const [server, since = now] of this.#members)
      this.#members.set(server, answered.has(server) ? undefined : since);
    return [...this.#members.values()].some((since) => since !== undefined && now - since <= within);
  }
}
