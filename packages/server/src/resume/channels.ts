import {
  type ChannelOffer,
  type Cursor,
  formatGap,
  formatResumable,
  formatTicket,
  type Gap,
  isKey,
  newKey,
  type Port,
  parseCursor,
  RESUME,
  Refusal,
} from "@parlance/wire";
import { type Durable, durable, isCut } from "@parlance/wire/link";
import type { Accepted } from "./channel.js";
import { isOwn } from "./guard.js";
import { handover } from "./handover.js";
import { type Called, GRACE, MAX_QUEUED } from "./options.js";
import { type Answer, refuse } from "./reply.js";
import { runOf } from "./resume.js";
import { occupy, type Serving } from "./serving.js";

/** Milliseconds within which a ticket must be used. */
const TICKET_LIFE = 30_000;
/** Frames kept for a client that may have missed them, in characters. */
const KEPT = 4 * 1024 * 1024;

/** Channels that go on while their client is away, and the tickets by which a socket joins them. */
export interface Slots {
  /** Answers a client that asks for a channel over HTTP: how far we are, and a ticket for a socket. Undefined where it has not asked. */
  offer(called: Called): Promise<Answer | undefined>;
  /** What a socket with this ticket goes on with; undefined where it has none that is good. */
  redeem(ticket: string, request: Request): Promise<Accepted | undefined>;
  /** Ends a conversation for a client that cannot say so on a socket. False when there is none. */
  cancel(name: string): Promise<boolean>;
  /** The server closes: what it hears from others is over. */
  close(): void;
}

/** From where somebody asks. */
export interface Place {
  readonly pathname: string;
  readonly origin: string | null;
  /** The origin is the server's own. */
  readonly own: boolean;
}

/** Who asks for a conversation again, and how much it has of it. */
export interface Asked {
  readonly name: string;
  readonly place: Place;
  readonly cursor?: Cursor | undefined;
}

/** A conversation that goes on, or what its client has missed of it for good. */
export type Found = (ChannelOffer & { readonly epoch: string }) | { readonly gap: Gap };

/** The conversations of this server. */
export interface LocalSlots {
  /** Undefined where there is none with this name, or another than the cursor's. */
  find(asked: Asked): Found | undefined;
  /** What a port does for the conversation of a good ticket. */
  take(ticket: string, place: Place): ((port: Port) => void) | undefined;
  cancel(name: string): boolean;
}

interface Slot {
  readonly epoch: string;
  readonly called: Called;
  readonly conversation: Durable;
  /** The last ticket: an earlier one, that some proxy held back, is good for nothing. */
  ticket?: string;
  begun: boolean;
  /** Frames that the client says it has. */
  peerHas: number;
  timer?: ReturnType<typeof setTimeout> | undefined;
}

interface Ticket {
  readonly slot: Slot;
  readonly place: Place;
  readonly expires: number;
}

/** `begin` holds the conversation of a call over a port. */
export function slots(
  serving: Pick<Serving, "contract" | "options" | "open">,
  begin: (called: Called, port: Port) => void,
): Slots {
  const { contract, options } = serving;
  const bySession = new Map<string, Slot>();
  const tickets = new Map<string, Ticket>();
  const { grace = GRACE, maxQueued = MAX_QUEUED } = options;

  function open(name: string, called: Called): Slot {
    const release = occupy(serving, called.principal);
    const conversation = durable({
      limit: Math.max(KEPT, maxQueued),
      maxBuffered: maxQueued,
      onCut: () => wait(slot),
      // 1001 from a client is a page that was left: its key is gone with it.
      mayReturn: (code) => code !== 1001 && isCut(code),
      onEnd() {
        clearTimeout(slot.timer);
        if (slot.ticket !== undefined) tickets.delete(slot.ticket);
        bySession.delete(name);
        release();
      },
    });
    const slot: Slot = { epoch: newKey().slice(0, 8), called, conversation, begun: false, peerHas: 0 };
    bySession.set(name, slot);
    wait(slot);
    return slot;
  }

  /** Nobody is there: the conversation is over after the grace period. */
  function wait(slot: Slot): void {
    clearTimeout(slot.timer);
    slot.timer = setTimeout(() => slot.conversation.end(1006, "the client did not come back"), grace);
    (slot.timer as { unref?: () => void }).unref?.();
  }

  function ticketFor(slot: Slot, place: Place): string {
    if (slot.ticket !== undefined) tickets.delete(slot.ticket);
    const ticket = newKey();
    slot.ticket = ticket;
    tickets.set(ticket, { slot, place, expires: Date.now() + TICKET_LIFE });
    return ticket;
  }

  function resumed(slot: Slot, { place, cursor }: Asked): Found {
    const { dropped } = slot.conversation;
    if (cursor && cursor.seq < dropped) return { gap: { after: cursor.seq, first: dropped + 1 } };
    // The old socket may still deliver: our count is final only once it is let go.
    slot.conversation.detach();
    wait(slot);
    slot.peerHas = cursor?.seq ?? 0;
    return { epoch: slot.epoch, ticket: ticketFor(slot, place), received: slot.conversation.received };
  }

  const local: LocalSlots = {
    find(asked) {
      const slot = bySession.get(asked.name);
      return slot && (!asked.cursor || asked.cursor.epoch === slot.epoch) ? resumed(slot, asked) : undefined;
    },
    take(ticket, { pathname, origin, own }) {
      const given = tickets.get(ticket);
      tickets.delete(ticket);
      if (!given || given.expires < Date.now()) return undefined;
      const { place, slot } = given;
      // A browser sends no Origin with a GET to the page's own server, and always one with a handshake.
      if (place.pathname !== pathname || !(place.origin === origin || (place.origin === null && own))) return undefined;
      return (port) => {
        if (!slot.conversation.attach(port, slot.peerHas)) return port.close(1012, "frames are gone");
        clearTimeout(slot.timer);
        if (slot.begun) return;
        slot.begun = true;
        begin(slot.called, slot.conversation.port);
      };
    },
    cancel(name) {
      const slot = bySession.get(name);
      slot?.conversation.end(1000, "cancelled");
      return slot !== undefined;
    },
  };
  const others =
    options.relay && handover(options.relay, local, { ...options, protocol: contract.name, openWithin: TICKET_LIFE });

  return {
    async offer(called): Promise<Answer | undefined> {
      const { operation, request, principal } = called;
      const key = request.headers.get(RESUME);
      if (!isKey(key) || options.resume === false) return undefined;
      const place = placeOf(request);
      const name = runOf(serving, operation, place.pathname, principal, key);
      const cursor = parseCursor(request.headers.get("Last-Event-ID"));
      const asked: Asked = { name, place, cursor };
      // Where nothing can be asked of others, the conversation is this server's alone.
      await others?.listen().catch(() => {});
      const known = local.find(asked) ?? (cursor && (await others?.find(asked)));
      const joined = known ?? (cursor ? { gap: { after: cursor.seq } } : resumed(open(name, called), asked));
      if ("gap" in joined) {
        const { after, first } = joined.gap;
        const what = first === undefined ? "the conversation is over" : `frames ${after + 1} to ${first - 1} are gone`;
        const gone = refuse(serving, request, new Refusal(what, { status: 410 }), operation);
        return { ...gone, headers: { ...gone.headers, [RESUME]: formatGap(joined.gap) } };
      }
      const { epoch, ...offer } = joined;
      return {
        status: 200,
        headers: {
          "Content-Type": "application/json",
          "Cache-Control": "no-store",
          [RESUME]: formatResumable({ epoch, grace: grace / 1000, beat: 0 }),
        },
        body: JSON.stringify(offer satisfies ChannelOffer),
      };
    },
    async redeem(ticket, request) {
      const place = placeOf(request);
      const run = local.take(ticket, place);
      return run ? { protocol: formatTicket(ticket), run } : others?.redeem(ticket, place);
    },
    cancel: async (name) => local.cancel(name) || (await others?.cancel(name)) === true,
    close: () => others?.close(),
  };
}

function placeOf(request: Request): Place {
  const origin = request.headers.get("Origin");
  return {
    pathname: new URL(request.url).pathname,
    origin,
    own: origin !== null && isOwn(origin, request),
  };
}
