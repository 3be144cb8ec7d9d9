import { type AnyMessage, type ChannelOffer, Disconnected, formatCursor, type Port, Refusal } from "@parlance/wire";
import { durable } from "@parlance/wire/link";
import { type ConnectOptions, RECONNECT_FOR } from "./options.js";
import { rejoin } from "./rejoin.js";

export interface Lasting {
  /** Names the channel in errors. */
  readonly what: string;
  readonly epoch: string;
  readonly askOver: (cursor: Record<string, string>, signal: AbortSignal) => Promise<Response>;
  /** Ends a conversation whose server would wait for us. */
  readonly leave: () => void;
  /** What the last answer has offered. */
  readonly offer: () => ChannelOffer | undefined;
  readonly openSocket: (ticket: string) => Promise<Port>;
  readonly connection: ConnectOptions;
  readonly signal: AbortSignal | undefined;
  readonly onLost: (error: unknown) => void;
  readonly unconfirmed: () => readonly AnyMessage[];
}

/** Characters of sent frames that are kept until a server has said that it has them. */
const KEPT = 4 * 1024 * 1024;

/** A port that, cut, asks the server where it is and goes on over a new socket. Without a first socket it asks at once. */
export function lasting(first: Port | undefined, how: Lasting): Port {
  const { what, epoch, askOver, leave, openSocket, connection, onLost } = how;
  const never = new AbortController().signal;
  const conversation = durable({ limit: KEPT, onCut: () => void goOn() });
  if (first) conversation.attach(first, 0);
  else void Promise.resolve().then(goOn);
  // Without a socket there is no close frame, and the server would wait for us.
  how.signal?.addEventListener("abort", () => conversation.cut && leave(), { once: true });

  async function goOn(): Promise<void> {
    // It was cut before the server has confirmed our close.
    if (conversation.closing) return leave();
    const cursor = () => ({ "Last-Event-ID": formatCursor({ epoch, seq: conversation.received }) });
    const lost = new Disconnected(`${what} was cut`, {
      code: "closed",
      retryable: true,
      unconfirmed: how.unconfirmed(),
    });
    const { random = Math.random, reconnectFor = RECONNECT_FOR } = connection;
    const until = Date.now() + reconnectFor;
    try {
      for (let attempt = 0; ; attempt++) {
        await rejoin({
          ask: (signal) => askOver(cursor(), signal),
          lost,
          signal: how.signal ?? never,
          retry: 0,
          giveUpAfter: until - Date.now(),
          random,
          attempt,
        });
        const offer = how.offer();
        const socket =
          offer &&
          (await openSocket(offer.ticket).catch((error: unknown) => {
            // 426: the ticket is no longer good, and the next one may be.
            if (error instanceof Refusal && !error.retryable && error.status !== 426) throw error;
          }));
        if (!socket) continue;
        const { received } = offer;
        if (conversation.attach(socket, received)) return;
        socket.close(1000, "frames are gone");
        throw new Disconnected(`${what}: messages that the server has not received are held no more`, {
          code: "gap",
          retryable: false,
          missing: { after: received },
          cause: lost,
        });
      }
    } catch (error) {
      onLost(error);
    }
  }

  return conversation.port;
}
