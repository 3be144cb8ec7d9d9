import { formatTicket, newKey } from "@parlance/wire";
import type { Accepted } from "./channel.js";
import { type Inquiry, inquiry } from "./inquiry.js";
import { GRACE, HEARTBEAT, MAX_QUEUED } from "./options.js";
import type { Relay } from "./relay.js";
import type { Asked, Found, LocalSlots, Place } from "./slot.js";
import { joinPorts, tunnel } from "./tunnel.js";

/** Channels that are other servers': a client may ask any of them. */
export interface Handover {
  /** Hears others from now on. */
  listen(): Promise<unknown>;
  find(asked: Asked): Promise<Found | undefined>;
  redeem(ticket: string, place: Place): Promise<Accepted | undefined>;
  cancel(name: string): Promise<boolean>;
  close(): void;
}

/** What servers ask each other. `from` is the inbox of who asks. */
type Question =
  | { readonly say: "find"; readonly asked: Asked }
  | { readonly say: "redeem"; readonly ticket: string; readonly place: Place; readonly tunnel: string }
  | { readonly say: "cancel"; readonly name: string };

type Answer = { readonly found: Found } | { readonly done: true };

type Said =
  | (Question & { readonly from: string; readonly id: string })
  | { readonly say: "answer"; readonly id: string; readonly answer?: Answer };

export interface HandoverOptions {
  /** The protocol's name. */
  readonly protocol: string;
  readonly grace?: number | undefined;
  readonly maxQueued?: number | undefined;
  /** Milliseconds in which a socket with a good ticket must be open. */
  readonly openWithin: number;
}

export function handover(relay: Relay, local: LocalSlots, options: HandoverOptions): Handover {
  const { protocol, grace = GRACE, maxQueued = MAX_QUEUED, openWithin } = options;
  const everybody = `${protocol}/channels`;
  const me = `${everybody}/${newKey()}`;
  const beat = Math.min(grace / 3, HEARTBEAT);
  const questions: Inquiry<Answer> = inquiry();
  let listening: Promise<(() => void)[]> | undefined;

  function listen(): Promise<unknown> {
    const hear = (text: string) => void heard(JSON.parse(text));
    listening ??= Promise.all([everybody, me].map((topic) => relay.subscribe(topic, hear, questions.interrupted)));
    listening.catch(() => {
      listening = undefined;
    });
    return listening;
  }

  async function heard(said: Said): Promise<void> {
    if (said.say === "answer") return questions.note(said.id, said.answer);
    const answer = async (answer?: Answer): Promise<void> => {
      const text = JSON.stringify({ say: "answer", id: said.id, ...(answer && { answer }) } satisfies Said);
      await relay.publish(said.from, text).catch(() => {});
    };
    if (said.say === "find") {
      const found = local.find(said.asked);
      return answer(found && { found });
    }
    if (said.say === "cancel") return answer(local.cancel(said.name) ? { done: true } : undefined);
    const taken = local.take(said.ticket, said.place);
    const ends = { here: `${said.tunnel}/c`, there: `${said.tunnel}/s` };
    const near = taken && (await tunnel(relay, { ...ends, end: "conversation", beat }).catch(() => undefined));
    await answer(near && { done: true });
    if (near) taken(near.port);
  }

  async function ask(question: Question): Promise<Answer | undefined> {
    await listen();
    return questions.ask((id) =>
      relay.publish(everybody, JSON.stringify({ ...question, from: me, id } satisfies Said)),
    );
  }

  return {
    listen,
    async find(asked) {
      const answer = await ask({ say: "find", asked });
      return answer && "found" in answer ? answer.found : undefined;
    },
    async redeem(ticket, place) {
      const name = `${everybody}/${newKey()}`;
      const far = await tunnel(relay, { here: `${name}/s`, there: `${name}/c`, end: "socket", beat });
      const answer = await ask({ say: "redeem", ticket, place, tunnel: name }).catch(() => undefined);
      if (!answer) {
        far.drop();
        return undefined;
      }
      const late = setTimeout(far.drop, openWithin);
      (late as { unref?: () => void }).unref?.();
      return {
        protocol: formatTicket(ticket),
        run(socket) {
          clearTimeout(late);
          joinPorts(socket, far.port, maxQueued);
        },
      };
    },
    cancel: async (name) => (await ask({ say: "cancel", name })) !== undefined,
    close() {
      listening?.then(
        (leaves) => leaves.forEach((leave) => void leave()),
        () => {},
      );
    },
  };
}
