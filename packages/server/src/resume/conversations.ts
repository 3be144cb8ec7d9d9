import {
  BEAT,
  formatResumeFrame,
  isKey,
  newKey,
  OFFER,
  type Port,
  parseBeginFrame,
  parseKeyFrame,
  RESUME,
  Refusal,
} from "@parlance/wire";
import { type Durable, durable, isCut } from "@parlance/wire/durable";
import { PacedPort } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import type { Converse } from "../channel/direct.js";
import { CallPort } from "../channel/socket.js";
import type { Called } from "../hooks.js";
import { isOwn } from "../http/origin.js";
import { conversationName, ownerIn } from "../identity.js";
import type { Limits } from "../limits.js";
import type { Accepted, Asked, Found, LocalChannels, Place, Shown } from "../ports.js";
import { gone } from "../reason.js";
import { type Ended, type Endings, endings } from "./tombstones.js";

interface Conversation {
  readonly epoch: string;
  /** Undefined until its client has sent a key. */
  name?: string;
  readonly called: Called;
  /** Until the client can miss nothing of it any more. */
  readonly life: Scope;
  readonly durable: Durable;
  /** The digest of the last ticket. An earlier one, held back by a proxy, is void. */
  ticket?: string;
  /** Settles when its handler is done; absent before the client has a ticket or has confirmed the first frame. */
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
  /** Cancels its end. */
  readonly stop: () => void;
}

/** The grace period and the heartbeat in seconds, as a client receives them. */
export function timesOf({ grace, heartbeat }: Limits): { readonly grace: number; readonly beat: number } {
  return { grace: grace / 1000, beat: heartbeat === Number.POSITIVE_INFINITY ? 0 : heartbeat / 1000 };
}

/** The conversations of this server, and the tickets by which sockets join them. */
export class Conversations implements LocalChannels {
  readonly #context: Context;
  readonly #converse: Converse;
  /** The prefix of this server's tickets. */
  readonly #server: () => string;
  /** Whether other servers may get a copy of a handshake: then a channel begins when its client has confirmed the first frame. */
  readonly #shared: boolean;
  readonly #byName = new Map<string, Conversation>();
  readonly #tickets = new Map<string, Ticket>();
  readonly #endings: Endings;
  /** The last keys that have begun a channel. */
  readonly #begun = new Set<string>();

  constructor(context: Context, converse: Converse, server: () => string, shared: boolean) {
    this.#context = context;
    this.#converse = converse;
    this.#server = server;
    this.#shared = shared;
    this.#endings = endings(context.limits, (ended) => this.#forgetTicket(ended));
    context.root.measure("tickets", () => this.#tickets.size);
  }

  open(called: Called, asked: Asked): Found {
    this.#begunOnce(asked.name);
    const conversation = this.#begin(called);
    this.#resumes(conversation, asked.name);
    return this.#resume(conversation, asked);
  }

  /** Decides on a handshake without a ticket. The conversation ends with its socket, unless its client sends a key. */
  accept(called: Called, call: Scope): Accepted {
    const { request, operation, principal } = called;
    const { pathname } = placeOf(request);
    const { contract, ownerOf } = this.#context;
    const nameOf = (key: string) => conversationName(contract.name, operation, pathname, ownerOf(principal), key);
    const key = request.headers.get(RESUME);
    const name = isKey(key) ? nameOf(key) : undefined;
    if (name !== undefined && !this.#begunOnce(name))
      throw new Refusal("this key has begun a channel: ask for a ticket by it", { status: 409 });
    const conversation = this.#begin(called, nameOf);
    const { life } = conversation;
    let isOpen = false;
    call.add(() => isOpen || life.close(call.reason ?? gone()));
    const opened = call.timeout(this.#context.limits.socketWithin, () => call.close(gone()));
    return {
      run: (port) => {
        opened();
        isOpen = true;
        const greeting = name === undefined ? undefined : this.#resumed(conversation, name);
        if (life.closed || !this.#attach(conversation, new CallPort(port, call), greeting)) call.close();
      },
    };
  }

  /** Whether a key is new, and remembers it: a network may repeat a whole connection. The oldest are forgotten. */
  #begunOnce(name: string): boolean {
    if (this.#begun.has(name)) return false;
    this.#begun.add(name);
    const [oldest] = this.#begun;
    if (this.#begun.size > this.#context.limits.maxTombstones) this.#begun.delete(oldest!);
    return true;
  }

  #begin(called: Called, nameOf?: (key: string) => string): Conversation {
    const { ledger, limits, ownerOf, root } = this.#context;
    const owner = ownerOf(called.principal);
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
      plain: nameOf !== undefined,
      onCut: () => this.#wait(conversation),
      // 1001 from a client is a page that was left: its key is gone with it.
      mayReturn: (code) => code !== 1001 && isCut(code),
      onControl: (frame) => {
        const begun = parseBeginFrame(frame);
        if (begun === conversation.epoch) return this.#start(conversation);
        if (begun !== undefined) return this.#giveUp(conversation, "a copy of a connection to another server");
        const key = parseKeyFrame(frame);
        const name = key && nameOf?.(key);
        if (!name || conversation.name || !this.#begunOnce(name)) return;
        // Sent before anything that is counted.
        held.say(this.#resumed(conversation, name));
      },
      onEnd: (code) => {
        const { received, sent } = held;
        const { name } = conversation;
        // A client may close before the first frame reaches it.
        if (!isCut(code)) this.#start(conversation);
        if (name && !isCut(code)) this.#endings.note(name, { epoch: conversation.epoch, received, sent });
        void Promise.resolve(conversation.conversed).then(() => life.close());
      },
    });
    let epoch: string | undefined;
    const conversation: Conversation = {
      // Made when it is first needed: most conversations end with their sockets, and random numbers take longer than the rest.
      get epoch() {
        epoch ??= newKey().slice(0, 8);
        return epoch;
      },
      called,
      life,
      durable: held,
      peerHas: 0,
      stopWaiting: () => {},
    };
    life.add(() => held.end(1001, "the server is closing"));
    ledger.hold(owner, life, (reason) => life.close(reason));
    return conversation;
  }

  /** Keeps a conversation under its client's key. */
  #resumes(conversation: Conversation, name: string): void {
    const { life, durable } = conversation;
    conversation.name = name;
    this.#byName.set(name, conversation);
    life.add(() => {
      this.#forgetTicket(conversation);
      if (this.#byName.get(name) === conversation) this.#byName.delete(name);
    });
    const { heartbeat } = this.#context.limits;
    if (heartbeat > 0) life.interval(heartbeat, () => durable.say(BEAT));
  }

  /** Resumes a conversation from here on. Returns the frame that tells its client. */
  #resumed(conversation: Conversation, name: string): string {
    const { epoch, durable } = conversation;
    this.#resumes(conversation, name);
    durable.resume();
    return formatResumeFrame({ epoch, ...timesOf(this.#context.limits) });
  }

  find(asked: Asked): Found | undefined {
    // Its handler may be still at work.
    const ended = this.#endings.find(asked.name, asked.cursor);
    if (ended) return this.#offer(ended, ended.received, undefined, asked);
    const conversation = this.#byName.get(asked.name);
    // A client that was cut before the first frame knows no epoch.
    const epochs = [undefined, OFFER, conversation?.epoch];
    if (!conversation || !epochs.includes(asked.cursor?.epoch)) return undefined;
    return this.#resume(conversation, asked);
  }

  take({ ticket, owner, place: shown }: Shown): ((port: Port) => boolean) | undefined {
    const { pathname, origin, own } = shown;
    const given = this.#tickets.get(ticket);
    this.#forgetTicket({ ticket });
    if (!given) return undefined;
    const { place, conversation } = given;
    if (owner !== undefined && owner !== given.owner) return undefined;
    // A browser sends no Origin with a GET to the page's own server, and always one with a handshake.
    if (place.pathname !== pathname || !(place.origin === origin || (place.origin === null && own))) return undefined;
    return (port) => (conversation ? this.#attach(conversation, port) : confirmClose(port));
  }

  cancel(name: string): boolean {
    const conversation = this.#byName.get(name);
    conversation?.durable.end(conversation.conversed ? 1000 : 1006, "cancelled");
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
    const { limits, root } = this.#context;
    // A timer, because a server that stood still has not seen the handshake that came meanwhile.
    const stop = (conversation?.life ?? root).timeout(limits.ticketLife, () => this.#tickets.delete(ticket));
    this.#tickets.set(ticket, { conversation, owner: ownerIn(name), place, stop });
    return { epoch: of.epoch, received, server: this.#server() };
  }

  #forgetTicket({ ticket }: { readonly ticket?: string }): void {
    if (ticket === undefined) return;
    this.#tickets.get(ticket)?.stop();
    this.#tickets.delete(ticket);
  }

  #attach(conversation: Conversation, port: Port, greeting?: string): boolean {
    if (!conversation.durable.attach(port, conversation.peerHas, greeting)) {
      port.close(1012, "frames are gone");
      return false;
    }
    // A socket that was cut already waits for the next one.
    if (!conversation.durable.cut) conversation.stopWaiting();
    if (greeting === undefined || !this.#shared) this.#start(conversation);
    else
      conversation.life.timeout(this.#context.limits.socketWithin, () => {
        if (!conversation.conversed) this.#giveUp(conversation, "the client did not confirm");
      });
    return true;
  }

  /** Ends a conversation that its client has not begun. */
  #giveUp({ durable }: Conversation, why: string): void {
    durable.detach();
    durable.end(1006, why);
  }

  #start(conversation: Conversation): void {
    const { called, durable, life } = conversation;
    conversation.conversed ??= this.#converse(called, durable.port, life.child());
  }
}

/** Confirms a close again. */
function confirmClose(port: Port): boolean {
  port.listen({ frame() {}, close() {} });
  port.close(1000, "");
  return true;
}

export function placeOf(request: Request): Place {
  const origin = request.headers.get("Origin");
  const url = new URL(request.url);
  return { pathname: url.pathname, origin, own: origin !== null && isOwn(origin, url) };
}
