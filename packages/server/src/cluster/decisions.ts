import { type AnyMessage, Refusal } from "@parlance/wire";
import type { OpenAskFound } from "../ports.js";
import { type LocalSessions, SETTLED } from "../session/local.js";
import type { Answer } from "./packet.js";
import { unanswered } from "./query.js";

interface DecisionOptions {
  readonly local: LocalSessions;
  /** Operations that answer an ask. */
  readonly answering: ReadonlySet<string>;
  /** Asks every server that follows the session. Rejects where one does not answer: it may hold the ask, or have settled it. */
  readonly inquire: (type: "find" | "settle", key: string, reply: AnyMessage) => Promise<Answer | undefined>;
}

/** Finds and settles asks, which stay on the server that asks. */
export class Decisions {
  readonly #options: DecisionOptions;

  constructor(options: DecisionOptions) {
    this.#options = options;
  }

  find(key: string, reply: AnyMessage): OpenAskFound | undefined | Promise<OpenAskFound | undefined> {
    const { local, answering, inquire } = this.#options;
    const found = local.find(key, reply);
    if (found || !answering.has(reply.type)) return found;
    return inquire("find", key, reply).then((answer) => {
      if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
      return answer?.is === "found" ? answer : undefined;
    });
  }

  settle(key: string, reply: AnyMessage): void | Promise<void> {
    const { local, inquire } = this.#options;
    if (local.find(key, reply)) return local.settle(key, reply);
    return inquire("settle", key, reply).then((answer) => {
      if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
      // The server that has the ask was there a moment ago: its subscription is interrupted, or it is gone.
      if (answer?.is !== "settled") throw unanswered(key);
    });
  }

  /** What this server answers to another one. */
  answerTo(what: "find" | "settle", key: string, reply: AnyMessage): Answer | undefined {
    const { local } = this.#options;
    try {
      const found = local.find(key, reply);
      if (!found) return undefined;
      if (what === "find") return { is: "found", message: found.message };
      local.settle(key, reply);
      return { is: "settled" };
    } catch {
      return { is: "decided" };
    }
  }
}
