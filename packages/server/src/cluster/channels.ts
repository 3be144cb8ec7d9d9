import { formatTicket, newKey } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Asked, Found, LocalChannels, Place, RemoteChannels } from "../resume/channels.js";
import type { Wiring } from "./publish.js";
import { query } from "./query.js";
import { subscribe } from "./subscriptions.js";
import { joinPorts, tunnel } from "./tunnel.js";

/** What servers ask each other about channels. */
type Question =
  | { readonly type: "find"; readonly asked: Asked }
  | { readonly type: "redeem"; readonly ticket: string; readonly place: Place; readonly tunnel: string }
  | { readonly type: "cancel"; readonly name: string };

type Answer = { readonly found: Found } | { readonly done: true };

/** `from` is the inbox of the server that asks. */
type Packet =
  | (Question & { readonly from: string; readonly id: string })
  | { readonly type: "answer"; readonly id: string; readonly answer?: Answer }
  /** A server is there; it asks the others to answer with the same. */
  | { readonly type: "hello"; readonly server: string; readonly from?: string };

/** Hexadecimal digits of a ticket that name its server. */
const SERVER = 12;

/** Names of servers that are remembered: each restart has a new one. */
const MAX_PEERS = 1000;

/** The least time between two hellos: guessed tickets cost pub/sub no more than one in this time. */
const HELLO_AFTER = 1000;

/** Channels of other servers: a client may ask any server for its channel. */
export function clusterChannels(protocol: string, wiring: Wiring, local: LocalChannels): RemoteChannels {
  const { limits, root, publish, mention } = wiring;
  const topic = `${protocol}/channels`;
  const server = newKey().slice(0, SERVER);
  const inboxOf = (name: string): string => `${topic}/${name}`;
  const me = inboxOf(server);
  const questions = query<Answer>(limits, root);
  const peers = new Set<string>();
  let listening: Promise<unknown> | undefined;
  let greeted: Promise<void> | undefined;
  let onPeer = (): void => {};

  /** Receives the others from now on. Never rejects: where pub/sub is down, the conversation is this server's alone until it is back. */
  function listen(): Promise<unknown> {
    listening ??= Promise.all(
      [topic, me].map((topic) =>
        subscribe<Packet>(wiring, {
          topic,
          scope: root,
          receive: (packet) => void receive(packet).catch((error) => wiring.report(error)),
          onInterrupted: questions.interrupted,
        }).catch(() => {}),
      ),
    );
    return listening;
  }

  async function receive(packet: Packet): Promise<void> {
    if (packet.type === "answer") return questions.note(packet.id, packet.answer);
    if (packet.type === "hello") {
      if (packet.server === server) return;
      peers.add(packet.server);
      if (peers.size > MAX_PEERS) peers.delete(peers.values().next().value!);
      onPeer();
      if (packet.from) mention(packet.from, { type: "hello", server } satisfies Packet);
      return;
    }
    const answer = (answer?: Answer): void =>
      mention(packet.from, { type: "answer", id: packet.id, ...(answer && { answer }) } satisfies Packet);
    if (packet.type === "find") {
      const found = local.find(packet.asked);
      return answer(found && { found });
    }
    if (packet.type === "cancel") return answer(local.cancel(packet.name) ? { done: true } : undefined);
    const take = local.take(packet.ticket, packet.place);
    if (!take) return answer();
    const ends = { here: `${packet.tunnel}/c`, there: `${packet.tunnel}/s` };
    const scope = root.child();
    try {
      const near = await tunnel({ wiring, scope, ...ends, end: "conversation" });
      answer({ done: true });
      take(near);
    } catch (error) {
      scope.close(error);
      answer();
    }
  }

  async function ask(topic: string, question: Question): Promise<Answer | undefined> {
    await listen();
    return questions.ask((id) => publish(topic, { ...question, from: me, id } satisfies Packet));
  }

  /** Whether a server of this name is there. An unknown name is asked for once in a while, whatever the number of tickets that name it. */
  async function isPeer(name: string): Promise<boolean> {
    if (peers.has(name)) return true;
    await listen();
    greeted ??= greet();
    await greeted;
    return peers.has(name);
  }

  async function greet(): Promise<void> {
    root.timeout(HELLO_AFTER, () => {
      greeted = undefined;
    });
    let answers = 0;
    let reached = Number.POSITIVE_INFINITY;
    // Each of the others answers once; this server does not.
    const all = new Promise<void>((resolve) => {
      onPeer = () => {
        if (++answers >= reached - 1) resolve();
      };
      root.timeout(limits.queryWithin, resolve);
    });
    reached = await publish(topic, { type: "hello", server, from: me } satisfies Packet).catch(() => 0);
    if (answers < reached - 1) await all;
  }

  return {
    ticket: () => server + newKey(),
    listen,
    async find(asked) {
      const answer = await ask(topic, { type: "find", asked });
      return answer && "found" in answer ? answer.found : undefined;
    },
    async redeem(ticket, place, call: Scope) {
      const owner = ticket.slice(0, SERVER);
      if (owner === server || !(await isPeer(owner))) return undefined;
      const name = `${topic}/${newKey()}`;
      const scope = call.child();
      try {
        const far = await tunnel({ wiring, scope, here: `${name}/s`, there: `${name}/c`, end: "socket" });
        const answer = await ask(inboxOf(owner), { type: "redeem", ticket, place, tunnel: name });
        if (!answer) {
          scope.close();
          return undefined;
        }
        const opened = scope.timeout(limits.socketWithin, () => scope.close());
        return {
          protocol: formatTicket(ticket),
          run(socket) {
            opened();
            joinPorts(socket, far, limits.maxQueued);
            scope.add(() => call.close());
          },
        };
      } catch (error) {
        scope.close(error);
        throw error;
      }
    },
    cancel: async (name) => (await ask(topic, { type: "cancel", name })) !== undefined,
  };
}
