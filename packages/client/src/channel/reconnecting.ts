import type { DisconnectedCode, Port } from "@parlance/wire";
import { durable } from "@parlance/wire/durable";
import { Disconnected, disconnected, Refusal } from "@parlance/wire/errors";
import type { AnyChannel, Link, Pace, PacedPort } from "@parlance/wire/link";
import { type Lifetime, lifetime } from "../lifetime.js";
import type { ConnectOptions } from "../options.js";
import { gap, type Rejoins, rejoining } from "../rejoin.js";

export interface ReconnectingOptions {
  /** Names the channel in errors. */
  readonly what: string;
  /** Seconds that the server keeps the conversation. */
  readonly grace: number;
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
    received: number,
    lost: Disconnected,
    request: Lifetime,
  ) => Promise<{ readonly port: Port; readonly received: number } | number>;
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
  #linked!: Link;

  constructor(options: ReconnectingOptions) {
    this.#options = options;
    this.#attempts = lifetime(options.life.signal);
    const { pace, Paced } = options;
    this.#conversation = durable({ limit: KEPT, pace, Paced, deliver: true, onCut: () => this.#onCut() });
    this.#rejoins = rejoining(options.connection, this.#attempts);
  }

  /** Opens the channel. Rejects when no socket could be opened, and cancels the channel on the server. */
  async open(): Promise<AnyChannel> {
    const { port } = this.#conversation;
    try {
      this.#linked = this.#options.linkOver({
        ...port,
        close: (code, reason) => {
          port.close(code, reason);
          this.#settle();
        },
        listen: (events) => {
          const frame = (text: string) => {
            this.#rejoins.delivered();
            events.frame(text);
          };
          port.listen({ frame, close: events.close });
        },
      });
      const { channel } = this.#linked;
      const over = () => this.#close(this.#conversation.cut);
      channel.closed.then(over, over);
      await this.#connect();
      return channel;
    } catch (error) {
      // The server may have started the conversation anyway.
      this.#close(true);
      this.#linked?.fail(error, 1000, "not opened");
      throw error;
    }
  }

  #connect(): Promise<unknown> {
    const connecting = this.#state === "connecting";
    const { what, grace, openSocket } = this.#options;
    const [how, code]: [string, DisconnectedCode] = connecting
      ? ["could not be opened", "unreachable"]
      : ["was cut", "closed"];
    const lost = disconnected(`${what} ${how}`, code, true);
    let refusals = 0;
    const attempt = async (request: Lifetime): Promise<true | number> => {
      try {
        const opened = await openSocket(this.#conversation.received, lost, request);
        if (typeof opened === "number") return opened;
        this.#attach(opened.port, opened.received, request, lost);
        return true;
      } catch (error) {
        if (!(error instanceof Refusal) || !PASSING.has(error.status!) || ++refusals === UPGRADES) throw error;
        return 0;
      }
    };
    return this.#rejoins.run(lost, grace, attempt, connecting ? -1 : 0);
  }

  /** Continues over a new socket from both sides' positions. */
  #attach(port: Port, received: number, request: Lifetime, lost: Disconnected): void {
    // The channel was closed meanwhile, so the port is closed as well.
    request.signal.throwIfAborted();
    request.release();
    this.#state = "open";
    if (this.#conversation.attach(port, received)) return;
    port.close(1000, "frames are gone");
    throw gap(`${this.#options.what}, at the server`, { after: received }, lost);
  }

  #onCut(): void {
    // The link is over, and the server may not have received its close.
    if (this.#state === "closed") return this.#options.cancel();
    this.#state = "rejoining";
    if (!this.#settle()) this.#connect().catch((error) => this.#fail(error));
  }

  #close(tell: boolean): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#attempts.abort();
    if (tell) this.#options.cancel();
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
