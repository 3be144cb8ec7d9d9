import { type AnyMessage, Refusal } from "@parlance/wire";
import type { Claimed, LocalStore } from "../ports.js";
import { CLAIMED, SETTLED } from "../session/local.js";
import type { Answer } from "./packet.js";
import { unanswered } from "./query.js";

interface DecisionOptions {
  readonly local: LocalStore;
  /** Operations that answer an ask. */
  readonly answering: ReadonlySet<string>;
  /** Asks every server that follows the session. Rejects where one does not answer: it may hold the ask, or have settled it. */
  readonly inquire: (type: "find" | "settle", key: string, reply: AnyMessage) => Promise<Answer | undefined>;
}

/** Claims and settles asks, which stay on the server that asks. */
export class Decisions {
  readonly #options: DecisionOptions;
  /** Asks of other servers that a handler here decides now. */
  readonly #claimed = new Set<string>();

  constructor(options: DecisionOptions) {
    this.#options = options;
  }

  claim(key: string, reply: AnyMessage): Claimed | undefined | Promise<Claimed | undefined> {
    const { local, answering, inquire } = this.#options;
    const claimed = local.claim(key, reply);
    if (claimed || !answering.has(reply.type)) return claimed;
    return inquire("find", key, reply).then((answer) => {
      if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
      if (answer?.is !== "found") return undefined;
      return answer.alone ? this.#claim(key, answer.message) : answer;
    });
  }

  #claim(key: string, message: AnyMessage): Claimed {
    const ask = JSON.stringify([key, message]);
    if (this.#claimed.has(ask)) throw new Refusal(CLAIMED, { status: 409 });
    this.#claimed.add(ask);
    return { message, release: () => this.#claimed.delete(ask) };
  }

  settle(key: string, reply: AnyMessage): void | Promise<void> {
    const { local, inquire } = this.#options;
    if (local.find(key, reply)) return local.settle(key, reply);
    return inquire("settle", key, reply).then((answer) => {
      if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
      // The server that has the ask was there a moment ago: its subscription is interrupted, or it is gone.
      if (answer?.is !== "settled") throw unanswered(`session ${key}`);
    });
  }

  /** What this server answers to another one. */
  answerTo(what: "find" | "settle", key: string, reply: AnyMessage): Answer | undefined {
    const { local } = this.#options;
    try {
      if (what === "find") {
        // Refused while a call of this server decides it.
        const claimed = local.claim(key, reply);
        claimed?.release?.();
        return claimed && { is: "found", message: claimed.message, alone: claimed.release !== undefined };
      }
      if (!local.find(key, reply)) return undefined;
      local.settle(key, reply);
      return { is: "settled" };
    } catch {
      return { is: "decided" };
    }
  }
}
