import { type ChannelOffer, formatResumable, formatTicket, isKey, newKey, parseCursor, RESUME } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import type { Converse } from "../channel/direct.js";
import { digest } from "../digest.js";
import type { Answer } from "../http/answer.js";
<<<<<<< HEAD
import { conversationName } from "../identity.js";
import type { Limits } from "../limits.js";
=======
import { isOwn } from "../http/origin.js";
import { conversationName, ownerIn } from "../identity.js";
import type { Called } from "../options.js";
>>>>>>> c11c1060 (server: limit, count and revoke what a principal holds)
import type { Accepted, ChannelDelivery } from "../ports.js";
import { CallPort } from "./call-port.js";
import {
  type Asked,
  Conversations,
  type Found,
  type LocalChannels,
  placeOf,
  type Shown,
  timesOf,
} from "./conversations.js";
import { gapAnswer } from "./gap.js";

/**
 * Channels that outlive their sockets. A client names its channel by a key: in a header of the handshake, or, from a page, in a frame of
 * resume itself. After a cut it asks over HTTP where the server is, and opens a socket with a ticket.
 */
export interface ResumableChannels extends ChannelDelivery {
  /** Ends a conversation for a client that has no socket. False when there is none. */
  cancel(name: string): Promise<boolean>;
}

/** Channels on other servers of a cluster. */
export interface RemoteChannels {
  find(asked: Asked, call: Scope): Promise<Found | undefined>;
  /** Redeems a ticket of another server, which its prefix names. */
  redeem(server: string, shown: Shown, call: Scope): Promise<Accepted | undefined>;
  cancel(name: string): Promise<boolean>;
  /** The prefix of this server's tickets, by which the other servers find it. */
  readonly server: string;
  /** Resolves when the other servers can ask for this one's channels, or pub/sub is down. */
  listen(): Promise<unknown>;
}

<<<<<<< HEAD
=======
interface Conversation {
  readonly epoch: string;
  readonly called: Called;
  /** Until the client can miss nothing of it any more. */
  readonly life: Scope;
  readonly durable: Durable;
  /** The digest of the last ticket. An earlier one, held back by a proxy, is void. */
  ticket?: string;
  /** Settles when its handler is done; absent before the first socket. */
  conversed?: Promise<void>;
  /** The number of frames that the client reports to have. */
  peerHas: number;
  stopWaiting: () => void;
}

interface Ticket {
  /** Undefined where it is over. */
  readonly conversation: Conversation | undefined;
  readonly owner: string;
  readonly place: Place;
  readonly expires: number;
}

>>>>>>> c11c1060 (server: limit, count and revoke what a principal holds)
export function resumableChannels(
  context: Context,
  direct: ChannelDelivery,
  converse: Converse,
  join: ((local: LocalChannels) => RemoteChannels) | undefined,
): ResumableChannels {
  const { limits, callbacks } = context;
  const local: Conversations = new Conversations(context, converse, () => remote?.server ?? "");
  const remote = join?.(local);

  return {
    async accept(called, call) {
      await remote?.listen();
      return local.accept(called, call);
    },
    async offer(called, call) {
      const { operation, request, principal } = called;
      const key = request.headers.get(RESUME);
      if (!isKey(key)) return direct.offer(called, call);
      const place = placeOf(request);
      const name = conversationName(context.contract.name, operation, place.pathname, context.ownerOf(principal), key);
      const cursor = parseCursor(request.headers.get("Last-Event-ID"));
      const secret = newKey();
      const asked: Asked = { name, place, cursor, ticket: digest(secret) };
      await remote?.listen();
      const found = local.find(asked) ?? (cursor && (await remote?.find(asked, call)));
      if (!found && cursor) return gapAnswer(context, called, { after: cursor.seq }, "frames", operation);
      const joined = found ?? local.open(called, asked);
      if ("gap" in joined) return gapAnswer(context, called, joined.gap, "frames", operation);
      const { epoch, received, server } = joined;
      return offerAnswer(epoch, { ticket: server + secret, received }, limits);
    },
    async redeem(ticket, request, owner, call) {
      const shown: Shown = { ticket: digest(ticket.slice(-SECRET)), place: placeOf(request), owner };
      const take = local.take(shown);
      if (!take) {
        const accepted = await remote?.redeem(ticket.slice(0, -SECRET), shown, call);
        return accepted && { protocol: formatTicket(ticket), ...accepted };
      }
      return {
        protocol: formatTicket(ticket),
        run(port) {
          if (!take(new CallPort(port, call))) call.close();
        },
      };
    },
    async cancel(name) {
      if (local.cancel(name)) return true;
      if (!remote) return false;
      try {
        return await remote.cancel(name);
      } catch (error) {
        callbacks.report(error, "pub/sub");
        throw error;
      }
    },
  };
}

/** Hexadecimal digits of the secret part of a ticket. */
const SECRET = 32;

function offerAnswer(epoch: string, offer: ChannelOffer, limits: Limits): Answer {
  return {
    status: 200,
    headers: {
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      [RESUME]: formatResumable({ epoch, ...timesOf(limits) }),
    },
    body: JSON.stringify(offer),
  };
}
<<<<<<< HEAD
=======

/** The conversations of this server, and the tickets by which sockets join them. */
class Conversations implements LocalChannels {
  readonly #context: Context;
  readonly #converse: Converse;
  /** The prefix of this server's tickets. */
  readonly #server: () => string;
  readonly #byName = new Map<string, Conversation>();
  readonly #tickets = new Map<string, Ticket>();
  readonly #endings: Endings;

  constructor(context: Context, converse: Converse, server: () => string) {
    this.#context = context;
    this.#converse = converse;
    this.#server = server;
    this.#endings = endings(context.limits, (ended) => this.#forgetTicket(ended));
    context.root.measure("tickets", () => {
      const now = Date.now();
      return [...this.#tickets.values()].filter(({ expires }) => expires >= now).length;
    });
  }

  open(called: Called, asked: Asked): Found {
    const { limits, ledger, root } = this.#context;
    const owner = ownerIn(asked.name);
    const life = root.child("channels");
    try {
      ledger.take(owner, "stream", life);
    } catch (error) {
      life.close(error);
      throw error;
    }
    const held = durable({
      Paced: PacedPort,
      get limit() {
        return ledger.allowance(owner, Math.max(limits.maxKept, limits.maxQueued));
      },
      pace: ledger.pace(owner),
      onCut: () => this.#wait(conversation),
      // 1001 from a client is a page that was left: its key is gone with it.
      mayReturn: (code) => code !== 1001 && isCut(code),
      onEnd: (code) => {
        const { received, sent } = held;
        if (!isCut(code)) this.#endings.note(asked.name, { epoch, received, sent });
        void Promise.resolve(conversation.conversed).then(() => life.close());
      },
    });
    const epoch = newKey().slice(0, 8);
    const conversation: Conversation = {
      epoch,
      called,
      life,
      durable: held,
      peerHas: 0,
      stopWaiting: () => {},
    };
    this.#byName.set(asked.name, conversation);
    ledger.hold(owner, life, (reason) => life.close(reason));
    life.add(() => {
      this.#forgetTicket(conversation);
      if (this.#byName.get(asked.name) === conversation) this.#byName.delete(asked.name);
      held.end(1001, "the server is closing");
    });
    return this.#resume(conversation, asked);
  }

  find(asked: Asked): Found | undefined {
    // Its handler may be still at work.
    const ended = this.#endings.find(asked.name, asked.cursor);
    if (ended) return this.#offer(ended, ended.received, undefined, asked);
    const conversation = this.#byName.get(asked.name);
    if (!conversation || (asked.cursor && asked.cursor.epoch !== conversation.epoch)) return undefined;
    return this.#resume(conversation, asked);
  }

  take({ ticket, owner, place: shown }: Shown): ((port: Port) => boolean) | undefined {
    const { pathname, origin, own } = shown;
    const given = this.#tickets.get(ticket);
    this.#tickets.delete(ticket);
    if (!given || given.expires < Date.now()) return undefined;
    const { place, conversation } = given;
    if (owner !== undefined && owner !== given.owner) return undefined;
    // A browser sends no Origin with a GET to the page's own server, and always one with a handshake.
    if (place.pathname !== pathname || !(place.origin === origin || (place.origin === null && own))) return undefined;
    return (port) => (conversation ? this.#attach(conversation, port) : confirmClose(port));
  }

  cancel(name: string): boolean {
    const conversation = this.#byName.get(name);
    conversation?.durable.end(1000, "cancelled");
    return conversation !== undefined;
  }

  /** Ends the conversation after the grace period without a socket. */
  #wait(conversation: Conversation): void {
    conversation.stopWaiting();
    conversation.stopWaiting = conversation.life.timeout(this.#context.limits.grace, () =>
      conversation.durable.end(1006, "the client did not come back"),
    );
  }

  #resume(conversation: Conversation, asked: Asked): Found {
    const { cursor } = asked;
    const { dropped } = conversation.durable;
    if (cursor && cursor.seq < dropped) return { gap: { after: cursor.seq, first: dropped + 1 } };
    // The old socket may still deliver: the count is final only once it is detached.
    conversation.durable.detach();
    this.#wait(conversation);
    conversation.peerHas = cursor?.seq ?? 0;
    return this.#offer(conversation, conversation.durable.received, conversation, asked);
  }

  /** Without a conversation, one that is over: its client's close has arrived, and the confirmation may not have. */
  #offer(
    of: Conversation | Ended,
    received: number,
    conversation: Conversation | undefined,
    { name, ticket, place }: Asked,
  ): Found {
    this.#forgetTicket(of);
    of.ticket = ticket;
    const expires = Date.now() + this.#context.limits.ticketLife;
    this.#tickets.set(ticket, { conversation, owner: ownerIn(name), place, expires });
    return { epoch: of.epoch, received, server: this.#server() };
  }

  #forgetTicket({ ticket }: Conversation | Ended): void {
    if (ticket !== undefined) this.#tickets.delete(ticket);
  }

  #attach(conversation: Conversation, port: Port): boolean {
    if (!conversation.durable.attach(port, conversation.peerHas)) {
      port.close(1012, "frames are gone");
      return false;
    }
    // A socket that was cut already waits for the next one.
    if (!conversation.durable.cut) conversation.stopWaiting();
    conversation.conversed ??= this.#converse(
      conversation.called,
      conversation.durable.port,
      conversation.life.child(),
    );
    return true;
  }
}

/** Confirms a close again. */
function confirmClose(port: Port): boolean {
  port.listen({ frame() {}, close() {} });
  port.close(1000, "");
  return true;
}

function placeOf(request: Request): Place {
  const origin = request.headers.get("Origin");
  const url = new URL(request.url);
  return { pathname: url.pathname, origin, own: origin !== null && isOwn(origin, url) };
}
>>>>>>> c11c1060 (server: limit, count and revoke what a principal holds)
