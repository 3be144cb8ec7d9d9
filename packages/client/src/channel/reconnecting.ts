import { type ChannelOffer, Disconnected, formatCursor, type Port, Refusal, type Resumable } from "@parlance/wire";
import { type AnyChannel, durable, type Link } from "@parlance/wire/link";
import { type Lifetime, lifetime } from "../lifetime.js";
import type { ConnectOptions } from "../options.js";
import { judge, rejoining } from "../rejoin.js";

export interface Reconnecting {
  /** Names the channel in errors. */
  readonly what: string;
  readonly resumable: Resumable;
  /** What the server has offered first. Undefined where that was cut: it is asked again. */
  readonly first: ChannelOffer | undefined;
  readonly connection: ConnectOptions;
  readonly life: Lifetime;
  readonly linkOver: (port: Port) => Link;
  readonly ask: (cursor: Record<string, string>, request: Lifetime) => Promise<Response>;
  readonly offerOf: (answer: Response, request: Lifetime) => Promise<ChannelOffer | undefined>;
  readonly openSocket: (ticket: string, request: Lifetime) => Promise<Port>;
  /** Ends a conversation whose server would wait for this client. */
  readonly cancel: () => void;
}

/**
 * The state of a channel. The transitions are in `connect`, `onCut` and `close`, and nowhere else.
 *
 *     connecting ─connect→ open ─onCut→ rejoining ─connect→ open
 *     any ─close→ closed
 */
type State = "connecting" | "open" | "rejoining" | "closed";

/** Characters of sent frames that are kept until the server has said that it has them. */
const KEPT = 4 * 1024 * 1024;
/** How often a server may refuse to upgrade before it counts as one that cannot. One refusal may be a ticket that a proxy has used up. */
const UPGRADES = 3;

/** Opens a channel that survives its sockets. After a cut it asks the server for its position and goes on over a new socket. */
export async function reconnecting(how: Reconnecting): Promise<AnyChannel> {
  const { what, resumable, connection, ask, offerOf, openSocket, cancel } = how;
  let state: State = "connecting";
  let offer = how.first;
  const attempts = lifetime(how.life.signal);
  const rejoins = rejoining(connection, attempts);
  const conversation = durable({ limit: KEPT, deliver: true, onCut });
  const { port } = conversation;
  let linked!: Link;

  /** Connects, and goes on where both sides were. */
  function connect(): Promise<unknown> {
    const connecting = state === "connecting";
    const lost = new Disconnected(`${what} ${connecting ? "could not be opened" : "was cut"}`, {
      code: connecting ? "unreachable" : "closed",
      retryable: true,
      unconfirmed: linked.unconfirmed(),
    });
    let refusals = 0;
    async function attempt(request: Lifetime): Promise<true | number> {
      let at = offer;
      offer = undefined;
      if (!at) {
        const cursor = formatCursor({ epoch: resumable.epoch, seq: conversation.received });
        const answer = await ask({ "Last-Event-ID": cursor }, request);
        const judged = judge(answer, lost);
        if (typeof judged === "number") return judged;
        at = await offerOf(answer, request);
      }
      const socket =
        at &&
        (await openSocket(at.ticket, request).catch((error: unknown) => {
          if (!(error instanceof Refusal) || error.status !== 426 || ++refusals === UPGRADES) throw error;
        }));
      if (!socket) return 0;
      // Closed meanwhile: then the socket is closed as well.
      request.signal.throwIfAborted();
      request.release();
      state = "open";
      if (conversation.attach(socket, at!.received)) return true;
      socket.close(1000, "frames are gone");
      throw new Disconnected(`${what}: messages that the server has not received are no longer kept`, {
        code: "gap",
        retryable: false,
        missing: { after: at!.received },
        cause: lost,
      });
    }
    return rejoins.run({ attempt, lost, grace: resumable.grace, atOnce: connecting });
  }

  function onCut(): void {
    // The link is over, and the server may not have heard of it.
    if (state === "closed") return cancel();
    state = "rejoining";
    if (!settle()) connect().catch(fail);
  }

  function close(tell: boolean): void {
    if (state === "closed") return;
    state = "closed";
    attempts.abort();
    if (tell) cancel();
  }

  /** Without a socket, a closed channel that has nothing left to deliver is over. */
  function settle(): boolean {
    const over = state !== "closed" && conversation.closing && conversation.cut && conversation.unconfirmed === 0;
    if (over) {
      close(true);
      conversation.end(1000, "");
    }
    return over;
  }

  /** No attempt has led to a socket again. */
  function fail(cause: unknown): void {
    if (state === "closed" || attempts.signal.aborted) return;
    close(false);
    const unconfirmed = linked.unconfirmed();
    if (!conversation.closing) linked.fail(cause, 1000, "not joined again");
    else if (unconfirmed.length === 0) conversation.end(1000, "");
    else {
      const what_ = `${what} was cut before its close was confirmed`;
      linked.fail(new Disconnected(what_, { code: "closed", retryable: true, unconfirmed, cause }), 1000, "");
    }
  }

  try {
    linked = how.linkOver({
      ...port,
      close(code, reason) {
        port.close(code, reason);
        settle();
      },
      listen(events) {
        const frame = (text: string) => {
          rejoins.delivered();
          events.frame(text);
        };
        port.listen({ frame, close: events.close });
      },
    });
    const over = () => close(conversation.cut);
    linked.channel.closed.then(over, over);
    await connect();
    return linked.channel;
  } catch (error) {
    // The server may have begun all the same, and would wait for us.
    close(true);
    linked?.fail(error, 1000, "not opened");
    throw error;
  }
}
