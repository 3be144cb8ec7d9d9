import { type AnyContract, type AnyMessage, newKey, Refusal } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { SessionStore, Subscriber } from "../ports.js";
import { type LocalSessions, SETTLED } from "../session/local.js";
import { type Followed, following } from "./follow.js";
import { outbox } from "./outbox.js";
import type { Wiring } from "./publish.js";
import { query } from "./query.js";
import { subscribe } from "./subscriptions.js";

/** What servers send to each other about sessions. `from` is the sender's inbox. */
type Packet =
  /** On the session's topic: who reads it? These readers are here. */
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
export function clusterSessions(
  contract: AnyContract,
  wiring: Wiring,
  makeLocal: (onIdle: (key: string) => void) => LocalSessions,
): SessionStore {
  const { limits, root, publish, mention } = wiring;
  const me = `${contract.name}/server/${newKey()}`;
  const topicOf = (key: string): string => `${contract.name}/session/${key}`;
  const local = makeLocal((key) => followed.leave(key));
  const answering = new Set(
    (contract.exchanges ?? []).flatMap(({ answers }) => answers.flatMap(({ operation }) => operation ?? [])),
  );
  const followed = following(wiring, {
    topicOf,
    receive,
    introduce,
    ready: listen,
  });
  /** Readers that are here, by the names that the others know them by. */
  const readers = new Map<string, Reader>();
  /** Readers that are elsewhere. */
  const distant = new Map<string, Scope>();
  const questions = query<Answer>(limits, root);
  let inbox: Promise<void> | undefined;
  let count = 0;

  /** Receives what is sent to this server alone. */
  function listen(): Promise<void> {
    const onInterrupted = (): void => {
      // The first try may have failed, and a later one has not.
      inbox = Promise.resolve();
      questions.interrupted();
      for (const key of followed.keys()) introduce(key);
    };
    inbox ??= subscribe(wiring, { topic: me, scope: root, receive, onInterrupted });
    return inbox;
  }

  function readersOf(key: string): string[] {
    return [...readers].filter(([, reader]) => reader.key === key).map(([name]) => name);
  }

  function introduce(key: string): void {
    mention(topicOf(key), { type: "who", key, from: me, readers: readersOf(key) } satisfies Packet);
  }

  function receive(packet: Packet): void {
    if ("from" in packet && packet.from === me && packet.type !== "find" && packet.type !== "settle") return;
    switch (packet.type) {
      case "who":
      case "reads": {
        const { key, from } = packet;
        for (const reader of packet.readers) meet(key, reader, from);
        const here = packet.type === "who" ? readersOf(key) : [];
        if (here.length > 0) mention(from, { type: "reads", key, from: me, readers: here } satisfies Packet);
        break;
      }
      case "left":
        distant.get(packet.reader)?.close();
        break;
      case "messages":
        deliver(packet.key, packet.from, packet.reader, packet.count, packet.messages);
        break;
      case "find":
      case "settle":
        mention(packet.from, {
          type: "answer",
          id: packet.id,
          answer: answerFor(packet.type, packet.key, packet.reply),
        } satisfies Packet);
        break;
      case "answer":
        questions.note(packet.id, packet.answer);
        break;
      case "end":
        local.end(packet.key);
        break;
    }
  }

  /** A reader on another server gets what is sent here from now on, and first what waits and what is open. */
  function meet(key: string, reader: string, from: string): void {
    const session: Followed | undefined = followed.get(key);
    if (distant.has(reader) || !session) return;
    followed.stay(key);
    const scope = session.scope.child("readers");
    distant.set(reader, scope);
    scope.add(() => {
      if (distant.get(reader) === scope) distant.delete(reader);
    });
    const out = outbox({
      limit: limits.maxQueued,
      publish: (messages) =>
        publish(from, { type: "messages", key, from: me, reader, count: ++count, messages } satisfies Packet, root),
      // Its server is gone: what was on the way waits for the next reader.
      onLost(messages) {
        if (scope.closed) return;
        scope.close();
        requeue(key, messages);
        // It may have reconnected before we noticed the loss.
        introduce(key);
      },
    });
    scope.measure("queued", () => out.size);
    local.subscribe(key, { end: () => scope.close(), send: out.send }, scope);
  }

  function requeue(key: string, messages: readonly AnyMessage[]): void {
    try {
      local.requeue(key, messages);
      followed.follow(key);
    } catch (error) {
      // More than may wait for a session without a reader.
      wiring.report(error);
    }
  }

  function deliver(key: string, from: string, reader: string, number: number, messages: readonly AnyMessage[]): void {
    const here = readers.get(reader);
    if (!here) return requeue(key, messages);
    if (number <= (here.counts.get(from) ?? 0)) return;
    here.counts.set(from, number);
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
  async function inquire(type: "find" | "settle", key: string, reply: AnyMessage): Promise<Answer | undefined> {
    await listen();
    return questions.ask((id) => publish(topicOf(key), { type, key, from: me, id, reply } satisfies Packet));
  }

  return {
    session(key) {
      const { send, ask } = local.session(key);
      return {
        send(message) {
          send(message);
          followed.follow(key);
        },
        ask(message, options) {
          const answer = ask(message, options);
          followed.follow(key);
          return answer;
        },
      };
    },
    subscribe(key, subscriber, scope) {
      if (scope.closed) return;
      const name = newKey();
      local.subscribe(key, subscriber, scope);
      readers.set(name, { key, subscriber, counts: new Map() });
      scope.add(() => {
        readers.delete(name);
        mention(topicOf(key), { type: "left", reader: name } satisfies Packet);
      });
      // A session that is followed only now introduces all its readers.
      if (!followed.follow(key))
        mention(topicOf(key), { type: "reads", key, from: me, readers: [name] } satisfies Packet);
    },
    requeue,
    find(key, reply) {
      const found = local.find(key, reply);
      if (found || !answering.has(reply.type)) return found;
      return inquire("find", key, reply).then((answer) => {
        if (answer?.is === "decided") throw new Refusal(SETTLED, { status: 409 });
        return answer?.is === "found" ? answer : undefined;
      });
    },
    settle(key, reply) {
      if (local.find(key, reply)) return local.settle(key, reply);
      return inquire("settle", key, reply).then((answer) => {
        if (answer?.is !== "settled") throw new Refusal(SETTLED, { status: 409 });
      });
    },
    end(key) {
      local.end(key);
      mention(topicOf(key), { type: "end", key, from: me } satisfies Packet);
    },
  };
}
