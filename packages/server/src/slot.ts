import {
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
  offer(called: Called): Answer | undefined;
  /** What a socket with this ticket goes on with; undefined where it has none that is good. */
  redeem(ticket: string, request: Request): Accepted | undefined;
  /** Ends a conversation for a client that cannot say so on a socket. False when there is none. */
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
  readonly pathname: string;
  readonly origin: string | null;
  readonly expires: number;
}

/** `begin` holds the conversation of a call over a port. */
export function slots(
  serving: Pick<Serving, "contract" | "options" | "open">,
  begin: (called: Called, port: Port) => void,
): Slots {
  const bySession = new Map<string, Slot>();
  const tickets = new Map<string, Ticket>();
  const { grace = GRACE, maxQueued = MAX_QUEUED } = serving.options;

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

  function missing({ request, operation }: Called, gap: Gap, what: string): Answer {
    const gone = refuse(serving, request, new Refusal(what, { status: 410 }), operation);
    return { ...gone, headers: { ...gone.headers, [RESUME]: formatGap(gap) } };
  }

  function ticketFor(slot: Slot, request: Request): string {
    if (slot.ticket !== undefined) tickets.delete(slot.ticket);
    const ticket = newKey();
    slot.ticket = ticket;
    tickets.set(ticket, {
      slot,
      pathname: new URL(request.url).pathname,
      origin: request.headers.get("Origin"),
      expires: Date.now() + TICKET_LIFE,
    });
    return ticket;
  }

  return {
    offer(called): Answer | undefined {
      const { operation, request, principal } = called;
      const key = request.headers.get(RESUME);
      if (!isKey(key) || serving.options.resume === false) return undefined;
      const name = runOf(serving, operation, new URL(request.url).pathname, principal, key);
      const cursor = parseCursor(request.headers.get("Last-Event-ID"));
      const known = bySession.get(name);
      if (cursor && cursor.epoch !== known?.epoch)
        return missing(called, { after: cursor.seq }, "the conversation is over");
      const { dropped = 0 } = known?.conversation ?? {};
      if (cursor && cursor.seq < dropped) {
        const gap = { after: cursor.seq, first: dropped + 1 };
        return missing(called, gap, `frames ${cursor.seq + 1} to ${dropped} are gone`);
      }
      const slot = known ?? open(name, called);
      // The old socket may still deliver: our count is final only once it is let go.
      slot.conversation.detach();
      wait(slot);
      slot.peerHas = cursor?.seq ?? 0;
      const body = JSON.stringify({ ticket: ticketFor(slot, request), received: slot.conversation.received });
      const resumable = { epoch: slot.epoch, grace: grace / 1000, beat: 0 };
      return {
        status: 200,
        headers: {
          "Content-Type": "application/json",
          "Cache-Control": "no-store",
          [RESUME]: formatResumable(resumable),
        },
        body,
      };
    },
    cancel(name) {
      const slot = bySession.get(name);
      slot?.conversation.end(1000, "cancelled");
      return slot !== undefined;
    },
    redeem(ticket, request) {
      const found = tickets.get(ticket);
      tickets.delete(ticket);
      if (!found || found.expires < Date.now()) return undefined;
      const origin = request.headers.get("Origin");
      // A browser sends no Origin with a GET to the page's own server, and always one with a handshake.
      const sameOrigin = found.origin === origin || (found.origin === null && isOwn(origin!, request));
      if (found.pathname !== new URL(request.url).pathname || !sameOrigin) return undefined;
      const { slot } = found;
      return {
        protocol: formatTicket(ticket),
        run(port) {
          if (!slot.conversation.attach(port, slot.peerHas)) return port.close(1012, "frames are gone");
          clearTimeout(slot.timer);
          if (slot.begun) return;
          slot.begun = true;
          begin(slot.called, slot.conversation.port);
        },
      };
    },
  };
}
