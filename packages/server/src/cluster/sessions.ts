import { type AnyContract, type AnyMessage, newKey, Refusal } from "@parlance/wire";
import { openAsks } from "@parlance/wire/link";
import { following } from "./following.js";
import { inquiry } from "./inquiry.js";
import { passing } from "./passing.js";
import type { Relay } from "./relay.js";
import { DECIDED, type LocalSessions, type Sessions, type Subscriber } from "./session.js";

/** What servers say to each other. `from` is the sender's inbox. */
type Said =
  /** On the session's topic: who reads it? These do here. */
  | { readonly say: "who"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
  /** These readers are here: on the topic when they come, to the inbox of whoever asks. */
  | { readonly say: "reads"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
  | { readonly say: "left"; readonly reader: string }
  /** `count` grows with every message of one server: a relay that lost its connection may say one again. */
  | {
      readonly say: "message";
      readonly key: string;
      readonly from: string;
      readonly reader: string;
      readonly count: number;
      readonly messages: readonly AnyMessage[];
    }
  | {
      readonly say: "find" | "settle";
      readonly key: string;
      readonly from: string;
      readonly id: string;
      readonly reply: AnyMessage;
    }
  | { readonly say: "answer"; readonly id: string; readonly answer?: Answer | undefined }
  | { readonly say: "end"; readonly key: string; readonly from: string };

type Answer = { readonly is: "decided" | "settled" } | { readonly is: "found"; readonly message: AnyMessage };

interface Reader {
  readonly key: string;
  readonly subscriber: Subscriber;
  /** The last message that each server has sent it. */
  readonly heard: Map<string, number>;
}

/**
 * Sessions that several servers hold together. A reader on another server is a subscriber like any other here, whose messages go
 * through the relay; an ask stays where it was made, and who is to decide it asks for it.
 */
export function sharedSessions(
  contract: AnyContract,
  relay: Relay,
  maxQueued: number,
  make: (onIdle: (key: string) => void) => LocalSessions,
): Sessions {
  const me = `${contract.name}/server/${newKey()}`;
  const topicOf = (key: string): string => `${contract.name}/session/${key}`;
  const local = make((key) => followed.unfollow(key));
  const asks = openAsks(contract, "server");
  const answering = new Set(
    (contract.exchanges ?? []).flatMap(({ answers }) => answers.flatMap(({ operation }) => operation ?? [])),
  );
  const followed = following(
    (key) =>
      listen().then(() =>
        relay.subscribe(
          topicOf(key),
          (text) => hear(JSON.parse(text)),
          () => introduce(key),
        ),
      ),
    introduce,
  );
  /** Readers that are here, by the names that the others know them by. */
  const readers = new Map<string, Reader>();
  /** Readers that are elsewhere: what forgets them. */
  const distant = new Map<string, () => void>();
  const questions = inquiry<Answer>();
  let inbox: Promise<() => void> | undefined;
  let closed = false;
  let sent = 0;

  function tell(topic: string, said: Said): Promise<number> {
    return relay.publish(topic, JSON.stringify(said));
  }

  /** For what is said again, or missed without harm, when the relay cannot be reached. */
  function mention(topic: string, said: Said): void {
    tell(topic, said).catch(() => {});
  }

  function listen(): Promise<unknown> {
    if (closed) return Promise.reject(new Refusal("the server is closing", { status: 503, retryAfter: 1 }));
    const resume = () => {
      questions.interrupted();
      for (const key of followed.keys()) introduce(key);
    };
    inbox ??= relay
      .subscribe(me, (text) => hear(JSON.parse(text)), resume)
      .catch((error) => {
        inbox = undefined;
        throw error;
      });
    return inbox;
  }

  function readersOf(key: string): string[] {
    return [...readers].filter(([, reader]) => reader.key === key).map(([name]) => name);
  }

  function introduce(key: string): void {
    mention(topicOf(key), { say: "who", key, from: me, readers: readersOf(key) });
  }

  function hear(said: Said): void {
    if ("from" in said && said.from === me && said.say !== "find" && said.say !== "settle") return;
    switch (said.say) {
      case "who":
        for (const reader of said.readers) meet(said.key, reader, said.from);
        if (readersOf(said.key).length > 0)
          mention(said.from, { say: "reads", key: said.key, from: me, readers: readersOf(said.key) });
        break;
      case "reads":
        for (const reader of said.readers) meet(said.key, reader, said.from);
        break;
      case "left":
        distant.get(said.reader)?.();
        break;
      case "message":
        receive(said.key, said.from, said.reader, said.count, said.messages);
        break;
      case "find":
      case "settle":
        mention(said.from, { say: "answer", id: said.id, answer: answerFor(said.say, said.key, said.reply) });
        break;
      case "answer":
        questions.note(said.id, said.answer);
        break;
      case "end":
        local.end(said.key);
        break;
    }
  }

  /** A reader on another server: from now on it gets what is said here, and first what waits and what is open. */
  function meet(key: string, reader: string, from: string): void {
    if (distant.has(reader) || !followed.get(key)) return;
    followed.stay(key);
    let unsubscribe = () => {};
    const forget = (): boolean => distant.delete(reader);
    distant.set(reader, () => forget() && unsubscribe());
    const send = passing({
      limit: maxQueued,
      publish: (messages) => tell(from, { say: "message", key, from: me, reader, count: ++sent, messages }),
      // Its server is gone: what was on the way waits for the next reader.
      onLost(messages) {
        if (!forget()) return;
        unsubscribe();
        requeue(key, messages);
        // It may be back already, and has said so while we still believed in it.
        introduce(key);
      },
    });
    unsubscribe = local.subscribe(key, { end: forget, send });
    // What waited was more than may be on the way.
    if (!distant.has(reader)) unsubscribe();
  }

  function requeue(key: string, messages: readonly AnyMessage[]): void {
    // Other readers have had their own copy, and an ask that is open is shown to the next one anyway.
    if (local.isRead(key)) return;
    try {
      for (const message of messages) if (!asks.exchangeOf(message)) shared.session(key).send(message);
    } catch {
      // More than may wait for a session that nobody reads: its agent has heard so already, or will.
    }
  }

  function receive(key: string, from: string, reader: string, count: number, messages: readonly AnyMessage[]): void {
    const here = readers.get(reader);
    if (!here) return requeue(key, messages);
    if (count <= (here.heard.get(from) ?? 0)) return;
    here.heard.set(from, count);
    for (const message of messages) here.subscriber.send(message);
  }

  function answerFor(what: "find" | "settle", key: string, reply: AnyMessage): Answer | undefined {
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

  /** Asks every server that has a part in the session. */
  async function inquire(say: "find" | "settle", key: string, reply: AnyMessage): Promise<Answer | undefined> {
    await listen();
    return questions.ask((id) => tell(topicOf(key), { say, key, from: me, id, reply }));
  }

  const shared: Sessions = {
    session(key) {
      const { send, ask } = local.session(key);
      return {
        send(message) {
          send(message);
          followed.follow(key).catch(() => {});
        },
        ask(message, options) {
          const answer = ask(message, options);
          followed.follow(key).catch(() => {});
          return answer;
        },
      };
    },
    subscribe(key, subscriber) {
      const name = newKey();
      const unsubscribe = local.subscribe(key, subscriber);
      const known = followed.get(key);
      readers.set(name, { key, subscriber, heard: new Map() });
      // Who follows only now introduces itself with all of its readers.
      if (!known) followed.follow(key).catch(() => {});
      else
        known.then(
          () => mention(topicOf(key), { say: "reads", key, from: me, readers: [name] }),
          () => {},
        );
      return () => {
        readers.delete(name);
        unsubscribe();
        mention(topicOf(key), { say: "left", reader: name });
      };
    },
    find(key, reply) {
      const found = local.find(key, reply);
      if (found || !answering.has(reply.type)) return found;
      return inquire("find", key, reply).then((answer) => {
        if (answer?.is === "decided") throw new Refusal(DECIDED, { status: 409 });
        return answer?.is === "found" ? answer : undefined;
      });
    },
    settle(key, reply) {
      if (local.find(key, reply)) return local.settle(key, reply);
      return inquire("settle", key, reply).then((answer) => {
        if (answer?.is !== "settled") throw new Refusal(DECIDED, { status: 409 });
      });
    },
    end(key) {
      local.end(key);
      mention(topicOf(key), { say: "end", key, from: me });
    },
    close() {
      closed = true;
      followed.close();
      inbox?.then(
        (leave) => leave(),
        () => {},
      );
    },
  };
  return shared;
}
