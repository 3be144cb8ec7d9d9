import type { ConnectionChange, DisconnectedCode, Port } from "@parlance/wire";
import { durable } from "@parlance/wire/durable";
import { Disconnected, disconnected, notify, Refusal } from "@parlance/wire/errors";
import type { AnyChannel, Link, Pace, PacedPort } from "@parlance/wire/link";
import { formatBeginFrame, formatKeyFrame, parseResumeFrame, type Resumable } from "@parlance/wire/resume";
import { type Lifetime, lifetime } from "../lifetime.js";
import type { ConnectOptions } from "../options.js";
import { gap, type Rejoins, rejoining } from "../rejoin.js";

export interface ReconnectingOptions {
  /** Names the channel in errors. */
  readonly what: string;
  readonly connection: ConnectOptions;
  readonly life: Lifetime;
  readonly pace: Pace;
  readonly Paced: typeof PacedPort;
  readonly linkOver: (port: Port) => Link;
  /**
   * Opens a socket, given the number of frames received. Resolves with the socket and the server's count, or, where another attempt may
   * help, with the minimum milliseconds to wait.
   */
  readonly openSocket: (
    epoch: string,
    received: number,
    lost: Disconnected,
    request: Lifetime,
  ) => Promise<{ readonly port: Port; readonly received: number; readonly resumable: Resumable } | number>;
  /** Ends the conversation on the server, which would otherwise wait for this client. */
  readonly cancel: () => void;
}

/**
 * The state of a channel. The transitions are in `#attach`, `#onCut` and `#close`, and nowhere else.
 *
 *     connecting ─attach→ open ─onCut→ rejoining ─attach→ open
 *     any ─close→ closed
 */
type State = "connecting" | "open" | "rejoining" | "closed";

/** Characters of sent frames kept until the server confirms them. */
const KEPT = 4 * 1024 * 1024;
/** Handshake statuses worth another attempt: 426 may mean that a proxy used up the ticket, 400 that the handshake was cut in transit. */
const PASSING = new Set([400, 426]);
/** Such refusals after which a server counts as unable to upgrade. */
const UPGRADES = 3;

/** A channel that reconnects and resumes. After a cut it asks the server for its position and continues over a new socket. */
export class ReconnectingChannel {
  #state: State = "connecting";
  readonly #options: ReconnectingOptions;
  readonly #attempts: Lifetime;
  readonly #rejoins: Rejoins;
  readonly #conversation;
  /** The server's state of the channel; undefined until it has said that it resumes it. */
  #resumable: Resumable | undefined;
  /** Whether the next frame shows that the server does not know the key, which was in a header. */
  #unsure = false;
  #linked!: Link;

  /** Without `resumable` the channel is open already, and plain: see `goOn`. */
  constructor(options: ReconnectingOptions, resumable?: Resumable) {
    this.#options = options;
    this.#attempts = lifetime(options.life.signal);
    const { pace, Paced } = options;
    this.#conversation = durable({
      limit: KEPT,
      pace,
      Paced,
      deliver: true,
      plain: !resumable,
      onCut: (cause) => this.#onCut(cause),
      onControl: (frame) => {
        const begun = parseResumeFrame(frame);
        if (!begun) return;
        this.#resumes(begun);
        this.#conversation.say(formatBeginFrame(begun.epoch));
      },
    });
    this.#rejoins = rejoining(options.connection, this.#attempts, options.what, this.#unwanted);
    if (resumable) this.#resumes(resumable);
  }

  /** Goes on over the socket of a plain channel to a server that is known to resume, and sends it the key. */
  goOn(paced: PacedPort, key: string, times: Resumable | undefined): Port {
    this.#begin(paced);
    this.#conversation.hold();
    this.#conversation.say(formatKeyFrame(key));
    this.#watch(times);
    return this.#port();
  }

  /** Begins over a socket whose handshake carried the key. A server that resumes says so in its first frame. */
  begin(paced: PacedPort): Port {
    this.#unsure = true;
    this.#begin(paced);
    return this.#port();
  }

  #begin(paced: PacedPort): void {
    this.#state = "open";
    this.#conversation.attach(paced, 0);
  }

  /** Ends with the channel of this link. */
  link(linked: Link): AnyChannel {
    this.#linked = linked;
    const over = () => this.#close(this.#conversation.cut);
    linked.channel.closed.then(over, over);
    return linked.channel;
  }

  #resumes(resumable: Resumable): void {
    this.#unsure = false;
    this.#resumable = resumable;
    this.#watch(resumable);
    if (!this.#conversation.resumes) this.#conversation.resume();
  }

  #watch(resumable: Resumable | undefined): void {
    this.#conversation.watch((resumable?.beat ?? 0) * 1000);
  }

  #port(): Port {
    const { port } = this.#conversation;
    return {
      ...port,
      close: (code, reason) => {
        port.close(code, reason);
        this.#settle();
      },
      listen: (events) => {
        const frame = (text: string) => {
          this.#rejoins.delivered();
          if (this.#unsure) this.#isForeign();
          events.frame(text);
        };
        port.listen({ frame, close: events.close });
      },
    };
  }

  /** The first frame of a server that resumes is another one. */
  #isForeign(): void {
    this.#unsure = false;
    this.#resumable = undefined;
    this.#conversation.plain();
  }

  /** Opens the channel. Rejects when no socket could be opened, and cancels the channel on the server. */
  async open(): Promise<AnyChannel> {
    try {
      const channel = this.link(this.#options.linkOver(this.#port()));
      await this.#connect();
      return channel;
    } catch (error) {
      // The server may have started the conversation anyway.
      this.#close(true);
      this.#linked?.fail(error, 1000, "not opened");
      throw error;
    }
  }

  #connect(cut: DisconnectedCode = "closed"): Promise<unknown> {
    const connecting = this.#state === "connecting";
    const { what, openSocket } = this.#options;
    const { epoch, grace } = this.#resumable!;
    const unsure = this.#unsure;
    const [how, code]: [string, DisconnectedCode] = connecting
      ? ["could not be opened", "unreachable"]
      : ["was cut", cut];
    const lost = disconnected(`${what} ${how}`, code, true);
    let refusals = 0;
    const attempt = async (request: Lifetime): Promise<true | number> => {
      try {
        const opened = await openSocket(epoch, this.#conversation.received, lost, request);
        if (typeof opened === "number") return opened;
        if (unsure) this.#resumes(opened.resumable);
        this.#attach(opened.port, opened.received, request, lost);
        return true;
      } catch (error) {
        // The server that was to be asked does not know the key.
        if (unsure && error instanceof Disconnected && error.code === "gap") throw lost;
        if (!(error instanceof Refusal) || !PASSING.has(error.status!) || ++refusals === UPGRADES) throw error;
        return 0;
      }
    };
    const budget = unsure ? grace * 1000 : undefined;
    return this.#rejoins.run(lost, grace, attempt, connecting ? -1 : 0, budget);
  }

  /** Continues over a new socket from both sides' positions. */
  #attach(port: Port, received: number, request: Lifetime, lost: Disconnected): void {
    // The channel was closed meanwhile, so the port is closed as well.
    request.signal.throwIfAborted();
    request.release();
    const isBack = this.#state === "rejoining";
    this.#state = "open";
    if (this.#conversation.attach(port, received)) {
      if (isBack) this.#notify({ type: "joined" });
      return;
    }
    port.close(1000, "frames are gone");
    throw gap(`${this.#options.what}, at the server`, { after: received }, lost);
  }

  #onCut(cause: Disconnected | undefined): void {
    // The link is over, and the server may not have received its close.
    if (this.#state === "closed") return this.#options.cancel();
    this.#state = "rejoining";
    if (this.#settle()) return;
    const { what } = this.#options;
    this.#notify({ type: "lost", cause: cause ?? disconnected(`${what} was cut`, "closed", true) });
    if (this.#isClosed) return;
    this.#connect(cause?.code).catch((error) => this.#fail(error));
  }

  #notify(change: ConnectionChange): void {
    const { connection, what } = this.#options;
    notify(connection.onConnection, { call: what, ...change }, this.#unwanted);
  }

  /** A callback may have closed it. */
  get #isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Ends the channel with what a callback threw. */
  readonly #unwanted = (error: unknown): void => this.#linked.fail(error, 1000, "not wanted");

  #close(tell: boolean): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#attempts.abort();
    this.#conversation.watch(0);
    if (tell && this.#resumable && !this.#unsure) this.#options.cancel();
  }

  /** Ends a closed channel that has no socket and nothing left to deliver. */
  #settle(): boolean {
    const { closing, cut, unconfirmed } = this.#conversation;
    const over = this.#state !== "closed" && closing && cut && unconfirmed === 0;
    if (over) {
      this.#close(true);
      this.#conversation.end(1000, "");
    }
    return over;
  }

  /** Ends the channel when it cannot reconnect. */
  #fail(cause: unknown): void {
    if (this.#state === "closed") return;
    if (this.#attempts.signal.aborted) return;
    this.#close(false);
    const unconfirmed = this.#linked.unconfirmed();
    const { closing } = this.#conversation;
    if (closing && unconfirmed.length === 0) return this.#conversation.end(1000, "");
    // A refusal does not list the unconfirmed messages.
    const how = `${this.#options.what} was cut${closing ? " before its close was confirmed" : ""}`;
    const lost =
      cause instanceof Refusal || closing ? disconnected(how, "closed", !(cause instanceof Refusal), cause) : cause;
    if (lost instanceof Disconnected) Object.assign(lost, { unconfirmed });
    this.#linked.fail(lost, 1000, "not joined again");
  }
}
