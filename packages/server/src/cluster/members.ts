import { invoke } from "../callback.js";
import { rememberFor } from "./follow.js";
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
  /** What this server, which closes, has not heard of. */
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
      invoke(() => wiring.pubSub.publish(topic, bye), wiring.report);
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

  /** Whether a server that may come back is not among those that have answered. One that stays away is forgotten. */
  isMissing(answered: ReadonlySet<string>): boolean {
    const now = performance.now();
    const after = rememberFor(this.#options.wiring.limits) / 2;
    let missing = false;
    for (const [server, since = now] of [...this.#members]) {
      if (answered.has(server)) this.#members.set(server, undefined);
      else if (now - since > after) this.#members.delete(server);
      else {
        this.#members.set(server, since);
        missing = true;
      }
    }
    return missing;
  }
}
