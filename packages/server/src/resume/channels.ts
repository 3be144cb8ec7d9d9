import { type ChannelOffer, formatResumable, formatTicket, isKey, newKey, parseCursor, RESUME } from "@parlance/wire";
import type { Context } from "../call.js";
import type { Converse } from "../channel/direct.js";
import { CallPort } from "../channel/socket.js";
import type { Answer } from "../http/answer.js";
import { gapAnswer } from "../http/response.js";
import { conversationName, digest } from "../identity.js";
import type { Limits } from "../limits.js";
import type { Asked, ChannelDelivery, LocalChannels, RemoteChannels, Shown } from "../ports.js";
import { Conversations, placeOf, timesOf } from "./conversations.js";

/**
 * Channels that outlive their sockets. A client names its channel by a key: in a header of the handshake, or, from a page, in a frame of
 * resume itself. After a cut it asks over HTTP where the server is, and opens a socket with a ticket.
 */
export interface ResumableChannels extends ChannelDelivery {
  /** Ends a conversation for a client that has no socket. False when there is none. */
  cancel(name: string): Promise<boolean>;
}

export function resumableChannels(
  context: Context,
  direct: ChannelDelivery,
  converse: Converse,
  join: ((local: LocalChannels) => RemoteChannels) | undefined,
): ResumableChannels {
  const { limits, callbacks } = context;
  const local: Conversations = new Conversations(context, converse, () => remote?.server ?? "", join !== undefined);
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
