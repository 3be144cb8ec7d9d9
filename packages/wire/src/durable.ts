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
  const { onCut, onEnd, onControl, mayReturn = isCut, deliver, Paced } = options;
  const { pace = { room: options.limit, most: options.limit, stall: Number.POSITIVE_INFINITY } } = options;
  let on: PortEvents | undefined;
  /** Frames that came before `listen`. */
  const early: string[] = [];
  let earlySize = 0;
  let socket: PacedPort | undefined;
  let over = false;
  /** How the conversation ended for this side's reader. */
  let told: Parameters<PortEvents["close"]> | undefined;
  /** The reason for which this side cut the last socket. */
  let cutBy: Disconnected | undefined;
  /** How this side closed. The peer may still lack the last frames. */
  let closing: { code: number; reason: string } | undefined;
  let received = 0;
  let held: string[] = [];
  /** The number of frames sent and no longer held. */
  let dropped = 0;
  let size = 0;
  /** Characters sent without a socket, and their sender's wait for one. */
  let away = 0;
  let returning: Promise<void> | undefined;
  let comeBack: (() => void) | undefined;
  let holds = !options.plain;
  let resumes = !options.plain;
  /** Looks without a frame, and whether one came since the last. Looks count, not time: a suspended process hears nothing. */
  let silent = 0;
  let heard = false;
  let watching: ReturnType<typeof setInterval> | undefined;

  function end(code: number, reason: string): void {
    if (over) return;
    over = true;
    socket = undefined;
    clearInterval(watching);
    dropped += held.length;
    held = [];
    const how = (resumes && closing) || { code, reason };
    tell(how.code, how.reason, how.code === 1006 ? cutBy : undefined);
    returned();
    onEnd?.(code);
  }

  function tell(...how: Parameters<PortEvents["close"]>): void {
    if (told) return;
    told = how;
    on?.close(...how);
  }

  /** Ends the wait for a socket. */
  function returned(): void {
    away = 0;
    comeBack?.();
    returning = comeBack = undefined;
  }

  function forget(count: number): void {
    for (const frame of held.splice(0, count)) size -= frame.length;
    dropped += count;
  }

  function detach(): void {
    const old = socket;
    socket = undefined;
    old?.drop();
    // The peer may still use this socket: the code lets it join again.
    old?.close(1012, "another socket goes on");
  }

  /** The socket is over, or given up by this side. */
  function lose(lost: PacedPort, code: number, reason: string, cause?: Disconnected): void {
    if (socket !== lost) return;
    socket = undefined;
    cutBy = cause;
    const back = resumes && mayReturn(code) && code !== closing?.code;
    if (resumes && closing && !(back && deliver)) tell(closing.code, closing.reason);
    if (back) onCut(cause);
    else end(code, reason);
  }

  function look(silence: number): void {
    const current = socket;
    silent = heard || !current ? 0 : silent + 1;
    heard = false;
    if (!current || silent < MAX_SILENT_LOOKS) return;
    lose(current, 1006, "", disconnected(`nothing came for ${silence} ms`, "idle", true));
    current.cut();
  }

  function keep(frame: string): void {
    held.push(frame);
    size += frame.length;
    let surplus = 0;
    // Read each time, because it may depend on what else is held.
    const { limit } = options;
    for (let left = size; left > limit && surplus < held.length - 1; ) left -= held[surplus++]!.length;
    // Drops half at once, because dropping one by one copies the rest each time.
    if (surplus > 0) forget(Math.max(surplus, held.length >> 1));
  }

  const port: Port = {
    send(frame) {
      if (over || closing) return;
      if (holds) keep(frame);
      if (socket) socket.send(frame);
      else away += frame.length;
    },
    full: () => socket?.full() === true,
    buffered: () => Math.max(size, socket?.buffered() ?? 0),
    room() {
      if (socket) return socket.room();
      if (over || closing || away <= pace.room) return undefined;
      returning ??= new Promise((resolve) => {
        comeBack = resolve;
      });
      return returning;
    },
    flushed: () => socket?.flushed(),
    cut() {
      if (!resumes) socket?.cut();
    },
    close(code, reason) {
      if (over || closing) return;
      closing = { code, reason };
      if (socket) socket.close(code, reason);
      else if (!deliver) tell(code, reason);
    },
    listen(events) {
      on = events;
      for (const frame of early.splice(0)) events.frame(frame);
      if (told) events.close(...told);
    },
  };

  return {
    port,
    detach,
    end,
    get resumes() {
      return resumes;
    },
    hold() {
      holds = true;
    },
    plain() {
      holds = resumes = false;
      size = 0;
      held = [];
    },
    resume() {
      holds = resumes = true;
      received = 0;
    },
    say: (frame) => socket?.send(frame),
    watch(beat) {
      clearInterval(watching);
      if (beat > 0) watching = setInterval(() => look(beat * 2.5), beat / 2);
    },
    get closing() {
      return closing !== undefined;
    },
    get unconfirmed() {
      return held.length;
    },
    get cut() {
      return socket === undefined && !over;
    },
    get received() {
      return received;
    },
    get sent() {
      return dropped + held.length;
    },
    get dropped() {
      return dropped;
    },
    attach(port, peerHas, greeting) {
      // Written so that NaN from a hostile peer is rejected too.
      if (over || !(peerHas >= dropped && peerHas <= dropped + held.length)) return false;
      detach();
      // A link's own pacing, where a plain port goes on as this one.
      const next = port instanceof Paced ? port : new Paced(port, pace);
      socket = next;
      silent = 0;
      cutBy = undefined;
      forget(peerHas - dropped);
      if (greeting !== undefined) next.send(greeting);
      for (const frame of held) next.send(frame);
      returned();
      if (closing) next.close(closing.code, closing.reason);
      next.listen({
        frame(text) {
          if (socket !== next) return;
          heard = true;
          if (onControl && isControl(text)) return onControl(text);
          if (!on) {
            earlySize += text.length;
            // Not counted: the peer sends it again over the next socket.
            if (early.length > 0 && earlySize > options.limit) {
              lose(next, 1006, "");
              return next.cut();
            }
            early.push(text);
          }
          received++;
          on?.frame(text);
        },
        close: (code, reason, cause) => lose(next, code, reason, cause),
      });
      return true;
    },
  };
}
