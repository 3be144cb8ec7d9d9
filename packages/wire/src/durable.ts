import { type Disconnected, disconnected } from "./errors.js";
import type { Pace, PacedPort } from "./pace.js";
import type { Port, PortEvents } from "./port.js";
import { isControl } from "./resume.js";

/** A port that survives its sockets. Both sides count frames; a new socket starts with the frames that the peer missed. */
export interface Durable {
  /** The port for a link, over the current socket. */
  readonly port: Port;
  /** Frames received so far. */
  readonly received: number;
  /** Frames sent so far. */
  readonly sent: number;
  /** Frames sent and no longer held. A peer that received fewer cannot resume. */
  readonly dropped: number;
  /**
   * Continues over a new socket. `peerHas` is the number of frames that the peer has received. Returns false, and does not take the
   * socket, where the peer lacks frames that are no longer held. `greeting` is a frame of resume itself, sent before any other.
   */
  attach(socket: Port, peerHas: number, greeting?: string): boolean;
  /** This side has closed. A peer that comes back is sent the frames that it lacks, and then the close. */
  readonly closing: boolean;
  /** Frames that are held because the peer has not confirmed them. */
  readonly unconfirmed: number;
  /** Whether there is no socket and the conversation is not over. */
  readonly cut: boolean;
  /** Whether a cut is survived. */
  readonly resumes: boolean;
  /** Holds sent frames from now on: the peer may count from here. */
  hold(): void;
  /** Goes on as a plain port: nothing is held, and a cut ends it. */
  plain(): void;
  /** Counts both ways from here, and survives a cut. Frames that were held count as well. */
  resume(): void;
  /** Sends a frame of resume itself, which neither side counts. */
  say(frame: string): void;
  /** Cuts a socket on which nothing comes for 2.5 heartbeats of so many milliseconds. */
  watch(beat: number): void;
  /** Releases the socket, so that the count stays fixed while a new one is opened. */
  detach(): void;
  /** Ends the conversation. A close of this side ends it with its own code. */
  end(code: number, reason: string): void;
}

export interface DurableOptions {
  /** Begins as a plain port: nothing is held, and a cut ends it, until `resume`. */
  readonly plain?: boolean;
  /** Receives the peer's frames of resume itself. */
  readonly onControl?: (frame: string) => void;
  /** Whether the peer may come back after such a close code: @default `isCut` */
  readonly mayReturn?: (code: number) => boolean;
  /**
   * A close of this side waits until the peer has every frame: while it is cut, the conversation goes on until a new socket, or `end`.
   * Without it, closing while there is no socket ends the conversation for this side at once.
   */
  readonly deliver?: boolean;
  /** Characters of sent frames kept for a peer that may have missed them. */
  readonly limit: number;
  /** How far this side may be ahead of its peer, with a socket or without one. `limit` by default. */
  readonly pace?: Pace;
  /** The class itself: imported here, it would be one more file of every page with channels. */
  readonly Paced: typeof PacedPort;
  /** The socket was cut, and another may follow. Not called when the peer closes on purpose. `cause` is the reason of this side. */
  readonly onCut: (cause: Disconnected | undefined) => void;
  /** The conversation ended with this close code, and all its frames are settled. */
  readonly onEnd?: (code: number) => void;
}

/** Close codes after which a conversation may continue: cut (1006), going away (1001), no code at all (1005), restart and try again (1012, 1013). */
export function isCut(code: number): boolean {
  return [1001, 1005, 1006, 1012, 1013].includes(code);
}

/** Missed looks, two in a heartbeat, after which a socket counts as dead: the last frame came before the first of them. */
const MAX_SILENT_LOOKS = 4;

export function durable(options: DurableOptions): Durable {
  return new DurableConversation(options);
}

class DurableConversation implements Durable {
  readonly port: Port = {
    send: (frame) => this.#send(frame),
    full: () => this.#socket?.full() === true,
    buffered: () => Math.max(this.#size, this.#socket?.buffered() ?? 0),
    room: () => this.#room(),
    flushed: () => this.#socket?.flushed(),
    cut: () => {
      if (!this.#resumes) this.#socket?.cut();
    },
    close: (code, reason) => this.#close(code, reason),
    listen: (events) => this.#listen(events),
  };
  received = 0;
  dropped = 0;
  readonly #options: DurableOptions;
  readonly #pace: Pace;
  #on: PortEvents | undefined;
  /** Frames that came before `listen`. */
  readonly #early: string[] = [];
  #earlySize = 0;
  #socket: PacedPort | undefined;
  #over = false;
  /** How the conversation ended for this side's reader. */
  #told: Parameters<PortEvents["close"]> | undefined;
  /** The reason for which this side cut the last socket. */
  #cutBy: Disconnected | undefined;
  /** How this side closed. The peer may still lack the last frames. */
  #closing: { readonly code: number; readonly reason: string } | undefined;
  #held: string[] = [];
  /** Characters of the held frames. */
  #size = 0;
  /** Characters sent without a socket, and their sender's wait for one. */
  #away = 0;
  #returning: Promise<void> | undefined;
  #comeBack: (() => void) | undefined;
  #holds: boolean;
  #resumes: boolean;
  /** Looks without a frame, and whether one came since the last. Looks count, not time: a suspended process hears nothing. */
  #silent = 0;
  #heard = false;
  #watching: ReturnType<typeof setInterval> | undefined;

  constructor(options: DurableOptions) {
    this.#options = options;
    this.#pace = options.pace ?? { room: options.limit, most: options.limit, stall: Number.POSITIVE_INFINITY };
    this.#holds = this.#resumes = !options.plain;
  }

  get resumes(): boolean {
    return this.#resumes;
  }

  get closing(): boolean {
    return this.#closing !== undefined;
  }

  get unconfirmed(): number {
    return this.#held.length;
  }

  get cut(): boolean {
    return this.#socket === undefined && !this.#over;
  }

  get sent(): number {
    return this.dropped + this.#held.length;
  }

  hold(): void {
    this.#holds = true;
  }

  plain(): void {
    this.#holds = this.#resumes = false;
    this.#size = 0;
    this.#held = [];
  }

  resume(): void {
    this.#holds = this.#resumes = true;
    this.received = 0;
  }

  say(frame: string): void {
    this.#socket?.send(frame);
  }

  watch(beat: number): void {
    clearInterval(this.#watching);
    if (beat > 0) this.#watching = setInterval(() => this.#look(beat * 2.5), beat / 2);
  }

  detach(): void {
    const old = this.#socket;
    this.#socket = undefined;
    old?.drop();
    // The peer may still use this socket: the code lets it join again.
    old?.close(1012, "another socket goes on");
  }

  attach(port: Port, peerHas: number, greeting?: string): boolean {
    // Written so that NaN from a hostile peer is rejected too.
    if (this.#over || !(peerHas >= this.dropped && peerHas <= this.sent)) return false;
    this.detach();
    const { Paced } = this.#options;
    // A link's own pacing, where a plain port goes on as this one.
    const next = port instanceof Paced ? port : new Paced(port, this.#pace);
    this.#socket = next;
    this.#silent = 0;
    this.#cutBy = undefined;
    this.#forget(peerHas - this.dropped);
    if (greeting !== undefined) next.send(greeting);
    for (const frame of this.#held) next.send(frame);
    this.#returned();
    if (this.#closing) next.close(this.#closing.code, this.#closing.reason);
    next.listen({
      frame: (text) => this.#receive(next, text),
      close: (code, reason, cause) => this.#lose(next, code, reason, cause),
    });
    return true;
  }

  end(code: number, reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#socket = undefined;
    clearInterval(this.#watching);
    this.dropped += this.#held.length;
    this.#held = [];
    const how = (this.#resumes && this.#closing) || { code, reason };
    this.#tell(how.code, how.reason, how.code === 1006 ? this.#cutBy : undefined);
    this.#returned();
    this.#options.onEnd?.(code);
  }

  #send(frame: string): void {
    if (this.#over || this.#closing) return;
    if (this.#holds) this.#keep(frame);
    if (this.#socket) this.#socket.send(frame);
    else this.#away += frame.length;
  }

  #receive(from: PacedPort, text: string): void {
    if (this.#socket !== from) return;
    this.#heard = true;
    const { onControl, limit } = this.#options;
    if (onControl && isControl(text)) return onControl(text);
    if (!this.#on) {
      this.#earlySize += text.length;
      // Not counted: the peer sends it again over the next socket.
      if (this.#early.length > 0 && this.#earlySize > limit) {
        this.#lose(from, 1006, "");
        return from.cut();
      }
      this.#early.push(text);
    }
    this.received++;
    this.#on?.frame(text);
  }

  #room(): Promise<void> | undefined {
    if (this.#socket) return this.#socket.room();
    if (this.#over || this.#closing || this.#away <= this.#pace.room) return undefined;
    this.#returning ??= new Promise((resolve) => {
      this.#comeBack = resolve;
    });
    return this.#returning;
  }

  /** Ends the wait for a socket. */
  #returned(): void {
    this.#away = 0;
    this.#comeBack?.();
    this.#returning = this.#comeBack = undefined;
  }

  #close(code: number, reason: string): void {
    if (this.#over || this.#closing) return;
    this.#closing = { code, reason };
    if (this.#socket) this.#socket.close(code, reason);
    else if (!this.#options.deliver) this.#tell(code, reason);
  }

  #listen(events: PortEvents): void {
    this.#on = events;
    for (const frame of this.#early.splice(0)) events.frame(frame);
    if (this.#told) events.close(...this.#told);
  }

  #tell(...how: Parameters<PortEvents["close"]>): void {
    if (this.#told) return;
    this.#told = how;
    this.#on?.close(...how);
  }

  #keep(frame: string): void {
    const held = this.#held;
    held.push(frame);
    this.#size += frame.length;
    let surplus = 0;
    // Read each time, because it may depend on what else is held.
    const { limit } = this.#options;
    for (let left = this.#size; left > limit && surplus < held.length - 1; ) left -= held[surplus++]!.length;
    // Drops half at once, because dropping one by one copies the rest each time.
    if (surplus > 0) this.#forget(Math.max(surplus, held.length >> 1));
  }

  #forget(count: number): void {
    for (const frame of this.#held.splice(0, count)) this.#size -= frame.length;
    this.dropped += count;
  }

  /** The socket is over, or given up by this side. */
  #lose(lost: PacedPort, code: number, reason: string, cause?: Disconnected): void {
    if (this.#socket !== lost) return;
    this.#socket = undefined;
    this.#cutBy = cause;
    const { mayReturn = isCut, deliver, onCut } = this.#options;
    const closing = this.#closing;
    const back = this.#resumes && mayReturn(code) && code !== closing?.code;
    if (this.#resumes && closing && !(back && deliver)) this.#tell(closing.code, closing.reason);
    if (back) onCut(cause);
    else this.end(code, reason);
  }

  #look(silence: number): void {
    const current = this.#socket;
    this.#silent = this.#heard || !current ? 0 : this.#silent + 1;
    this.#heard = false;
    if (!current || this.#silent < MAX_SILENT_LOOKS) return;
    this.#lose(current, 1006, "", disconnected(`nothing came for ${silence} ms`, "idle", true));
    current.cut();
  }
}
