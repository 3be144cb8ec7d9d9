import type { AskOptions, Channel, Closed } from "./contract/calls.js";
import type { Side } from "./contract/contract.js";
import type { AnyMessage } from "./contract/schema.js";
import { Disconnected, disconnected, misuse, notify, Violation } from "./errors.js";
import { abortable, type Busy, OpenAsks, type Waiting } from "./exchange.js";
import type { AnyContract, Codec, Unknown } from "./message.js";
import { type Pace, PacedPort } from "./pace.js";
import type { Port } from "./port.js";
import { Queue } from "./queue.js";
import { reading } from "./reading.js";
import { sendAll } from "./send-all.js";

const NONE: AnyMessage[] = [];
const nothing = () => {};

/** The shared promise that `send` returns while there is room. */
const ROOM = Promise.resolve();

export type AnyChannel = Channel<AnyMessage, AnyMessage, Record<string, AnyMessage>>;

export interface LinkOptions {
  /** Which channel of the contract. */
  readonly channel: string;
  /** Which side this is. */
  readonly side: Side;
  /** Encodes the messages of this side. */
  readonly encode: Codec["encode"];
  /** Decodes the messages of the peer. */
  readonly decode: Codec["decode"];
  /** Maximum size of one incoming frame. */
  readonly maxSize: number;
  /** Unread characters on this side above which the link closes with `slow_reader`. */
  readonly maxQueued: number;
  /** Estimates the size of a frame. @default its characters */
  readonly weigh?: ((text: string) => number) | undefined;
  /**
   * Counts a frame of this size before it is decoded. Returns its release, called once the reader of its message asks for the next one;
   * undefined where nothing is counted. Throwing closes the link with that error.
   */
  readonly hold?: ((size: number) => (() => void) | undefined) | undefined;
  /** Takes each message of the peer that answers no ask, instead of the channel, in order. `done` releases what the message holds. */
  readonly receive?: ((message: AnyMessage, size: number, done: () => void) => void) | undefined;
  /** Called with a frame over the limit, or its beginning, before its `Violation`. */
  readonly tooLarge?: ((text: string) => void) | undefined;
  /** How far this side may be ahead of its peer. A port with `room` paces itself. */
  readonly pace: Pace;
  /** Refuses asks that exclude an open one. Without it nothing is refused. */
  readonly busy?: Busy | undefined;
  readonly onUnknown?: ((unknown: Unknown) => void) | undefined;
  /** Called for every message, with the side that wrote it. A message of the peer is dropped when this returns false. */
  readonly onMessage?: ((message: AnyMessage, from: Side) => unknown) | undefined;
  /** Throwing or rejecting closes the link with that error. Returning drops the frame. */
  readonly onViolation: (violation: Violation) => void;
}

/** A channel over a port, for either side, and the operations that only the side's own runtime may use. */
export interface Link {
  readonly channel: AnyChannel;
  /** The size of the messages not read yet on this side. */
  readonly queued: number;
  /** The asks that this side has open. */
  readonly asks: OpenAsks;
  /**
   * `channel.send`, but returns a promise only where there is no room. A message sent over many links is encoded once when each call
   * has the same `saying`.
   */
  send(message: AnyMessage, saying?: object): Promise<void> | undefined;
  /** Resolves when everything sent was written to the socket, or the socket is gone. */
  flushed(): Promise<void>;
  /** Sends a report about the peer's last frame. It is neither an ask nor an answer. */
  say(message: AnyMessage): void;
  /** The messages sent since the peer's last one, which it may not have received; at most the first thousand. */
  unconfirmed(): readonly AnyMessage[];
  /** Ends the link with an error for this side's reader. */
  fail(error: unknown, code: number, reason: string): void;
}

export function link(contract: AnyContract, socket: Port, options: LinkOptions): Link {
  const { channel: name, side, busy, onMessage, onUnknown, onViolation, maxSize } = options;
  const what = `${contract.name}.${name}`;
  const port = socket.room ? socket : new PacedPort(socket, options.pace);
  const { open, cancel, fault } = contract.channels[name]!;
  const peer: Side = side === "client" ? "server" : "client";
  const mine = new OpenAsks(contract, side);
  const inbox = new Queue<AnyMessage>({
    get limit() {
      return options.maxQueued;
    },
  });
  const readers = reading(what, () => inbox.drained);
  /** Releases of large frames: those of queued messages, and that of the message which the reader works on. */
  const counted = new Map<AnyMessage, () => void>();
  let release: (() => void) | undefined;
  /** The name of each side's opening message, until it was sent. Only the server's side checks both. */
  const opening: { [by in Side]?: string } = { client: open?.client };
  if (side === "server") opening.server = open?.server;
  let unheard = NONE;
  /** Asks by order wait for each other. */
  let turn: Promise<unknown> | undefined;
  let closing = false;
  /** Whether the client's last message lets the server drop the connection. */
  let cancelled = false;
  /** The error with which the link has ended. */
  let failure: unknown;
  /** What comes too late gets this. It is made then, because an error takes longer than the end of a channel. */
  const over = (): unknown => {
    failure ??= disconnected(`${what} is closed`, "closed", false);
    return failure;
  };
  /** The port's wait for room, and what `send` returns for it. */
  let room: Promise<void> | undefined;
  let sendable: Promise<void> | undefined;
  /** Senders that wait. */
  const senders = new Set<(error: unknown) => void>();
  let settleClosed!: { resolve(closed: Closed): void; reject(error: unknown): void };
  const closed = new Promise<Closed>((resolve, reject) => {
    settleClosed = { resolve, reject };
  });
  closed.catch(() => {});

  /** `late` is the error of asks, and of what comes too late. */
  function end(error: unknown, late = error): void {
    inbox.end(error);
    failure = late;
    for (const ask of mine.list()) ask.fail?.(over());
    for (const stop of senders) stop(over());
  }

  function fail(error: unknown, code: number, reason: string): void {
    if (inbox.ended) return;
    end(error);
    settleClosed.reject(error);
    port.close(code, reason);
  }

  /** Handles a frame of the peer, which may break the contract. */
  function receive(text: string): void {
    if (inbox.ended) return;
    try {
      hear(text);
    } catch (error) {
      if (!(error instanceof Violation)) return failed(error);
      notify(onViolation, error, (thrown) => fail(thrown, error.code === "too_large" ? 1009 : 1008, error.code));
    }
  }

  function failed(error: unknown): void {
    fail(error, 1011, "internal error");
  }

  function hear(text: string): void {
    const size = options.weigh?.(text) ?? text.length;
    if (size > maxSize) {
      options.tooLarge?.(text);
      throw new Violation(`a frame of ${size} characters or more is over the limit of ${maxSize}`, {
        code: "too_large",
        protocol: contract.name,
        side: peer,
        subject: name,
      });
    }
    if (!options.hold) return void take(text, size, undefined);
    let held: (() => void) | undefined;
    try {
      held = options.hold(size);
    } catch (error) {
      return fail(error, 1008, "too much");
    }
    let isRead = false;
    try {
      isRead = take(text, size, held);
    } finally {
      if (!isRead) held?.();
    }
  }

  /** Returns whether the reader gets the message, now or later. */
  function take(text: string, size: number, held: (() => void) | undefined): boolean {
    const read = options.decode({ data: text });
    if ("unknown" in read) {
      notify(onUnknown, read.unknown, failed);
      return false;
    }
    const { message } = read;
    if (opening[peer] !== undefined) assertOpening(message, peer);
    // Messages that cross a close in transit do not affect it.
    if (!closing) unheard = NONE;
    if (onMessage?.(message, peer) === false) return false;
    const answered = mine.answer(message);
    const settle = answered?.partial ? answered.ask.part : answered?.ask.settle;
    if (settle) {
      settle(message);
      return false;
    }
    const refusal = busy?.received(message);
    if (refusal) {
      say(refusal);
      return false;
    }
    if (options.receive) {
      options.receive(message, size, held ?? nothing);
      return true;
    }
    const before = inbox.weight;
    if (!inbox.push(message, size)) {
      const behind = `${what}: more than ${options.maxQueued} characters wait to be read`;
      fail(disconnected(behind, "slow_reader", false), 1008, "slow reader");
      return false;
    }
    if (!held) return true;
    if (inbox.weight > before) counted.set(message, held);
    // The reader has waited for it.
    else release = held;
    return true;
  }

  /** The reader's next message. It is done with the one before. */
  function next(): Promise<IteratorResult<AnyMessage>> {
    releaseRead();
    const step = inbox.next();
    if (counted.size === 0) return step;
    return step.then((read) => {
      if (!read.done) release = counted.get(read.value);
      counted.delete(read.value);
      return read;
    });
  }

  function releaseRead(): void {
    release?.();
    release = undefined;
  }

  function assertOpening({ type }: AnyMessage, from: Side): void {
    // A server that refuses to open sends its refusal first.
    if (from === "server" && type === fault) return;
    const first = opening[from];
    if (first !== undefined && type !== first)
      throw new Violation(`${name} opens with ${first}, not with ${type}`, {
        code: "opening",
        protocol: contract.name,
        side: from,
        subject: type,
      });
    opening[from] = undefined;
  }

  function say(message: AnyMessage, saying?: object): void {
    if (inbox.ended || closing) throw disconnected(`${what} is closed: ${message.type} was not sent`, "closed", true);
    if (port.full?.())
      throw disconnected(
        `${what}: more than ${options.pace.most} bytes wait: ${message.type} was not sent; await \`send\``,
        "slow_reader",
        true,
      );
    const { data } = options.encode(message, saying);
    assertOpening(message, side);
    onMessage?.(message, side);
    cancelled = side === "client" && message.type === cancel;
    // A literal, because a push into an empty array reserves seventeen places on each of thousands of connections.
    if (unheard === NONE) unheard = [message];
    else if (unheard.length < 1000) unheard.push(message);
    port.send(data);
  }

  /** Sends what may be an ask. It is open before, because a peer in the same process may answer at once. */
  function put(message: AnyMessage, saying?: object, on?: Parameters<OpenAsks["open"]>[1]): Waiting | undefined {
    // A caller in JavaScript may pass no message; encoding it says so.
    const waiting = message && mine.open(message, on);
    try {
      say(message, saying);
    } catch (error) {
      if (waiting) mine.withdraw(waiting);
      throw error;
    }
    return waiting;
  }

  function send(message: AnyMessage, saying?: object): Promise<void> | undefined {
    put(message, saying);
    busy?.sent(message);
    const pending = port.room?.();
    if (!pending || pending === room) return pending && sendable;
    room = pending;
    sendable = new Promise((resolve, reject) => {
      const forget = onEnd(reject);
      pending.then(resolve).then(forget);
    });
    // A sender that does not await gets the error elsewhere.
    sendable.catch(() => {});
    return sendable;
  }

  function onEnd(stop: (error: unknown) => void): () => void {
    if (inbox.ended) stop(over());
    else senders.add(stop);
    return () => senders.delete(stop);
  }

  function ask(message: AnyMessage, { signal, onPart }: AskOptions<AnyMessage> = {}): Promise<AnyMessage> {
    // A caller in JavaScript may pass no message.
    const exchange = message && mine.exchangeOf(message);
    if (!exchange) return Promise.reject(misuse(`${contract.name}: ${message?.type} asks nothing; send it`));
    const keyed = exchange.key !== undefined;
    let waiting: Waiting | undefined;
    const asking = () =>
      new Promise<AnyMessage>((settle, fail) => {
        signal?.throwIfAborted();
        const part = onPart && ((answer: AnyMessage) => notify(onPart, answer, abort));
        waiting = put(message, undefined, { settle, fail, part });
        // The port failed while it sent.
        if (inbox.ended) fail(over());
      });
    const answer = keyed ? asking() : (turn ?? Promise.resolve()).then(asking);
    if (!keyed) turn = answer.catch(() => {});
    return signal ? abortable(answer, signal, abort) : answer;

    function abort(reason: unknown): void {
      // An answer by order keeps its place in the queue, so only an ask with a key can be withdrawn.
      if (keyed && waiting) mine.withdraw(waiting);
      waiting?.fail?.(reason);
    }
  }

  function closedBy(code: number, reason: string, cause?: Disconnected): void {
    // A browser sends 1001 when its page is closed (RFC 6455, section 7.4.1); a server sends it when it closes, and the client comes back.
    const confirmed = closing && (code !== 1006 || unheard.length === 0);
    // 1005 and 1006 stand for a close without a code and for none (RFC 6455, section 7.1.5).
    const dropped = cancelled && (code === 1005 || code === 1006);
    const caused = cause && new Disconnected(`${what}: ${cause.message}`, { ...cause, cause, unconfirmed: unheard });
    if (code === 1000 || confirmed || dropped || (code === 1001 && side === "server")) {
      end(undefined, caused);
      settleClosed.resolve({ code, reason });
    } else {
      const how = `was closed by the ${peer}: ${code} ${reason}`.trimEnd();
      const error = caused ?? disconnected(`${what} ${how}`, "closed", true, undefined, unheard);
      end(error);
      settleClosed.reject(error);
    }
  }

  /** What a port that has waited tells while `listen` runs: the callbacks of `options` may need the link, which is not there yet. */
  let early: (() => void)[] | undefined = [];
  const orLater = (tell: () => void): void => (early ? void early.push(tell) : tell());
  port.listen({
    unread: () => inbox.weight,
    frame: (text) => (early ? orLater(() => receive(text)) : receive(text)),
    close: (code, reason, cause) => orLater(() => closedBy(code, reason, cause)),
  });
  if (early.length === 0) early = undefined;
  else
    queueMicrotask(() => {
      for (const tell of early!) tell();
      early = undefined;
    });

  const close: AnyChannel["close"] = async (code = 1000, reason = "") => {
    if (!inbox.ended && !closing) {
      closing = true;
      port.close(code, reason);
    }
    await closed.catch(() => {});
  };

  const channel: AnyChannel = {
    send: (message) => send(message) ?? ROOM,
    sendAll: (messages) => sendAll(what, messages, { send, onEnd }),
    ask,
    close,
    closed,
    [Symbol.asyncIterator]: () => readers(next, releaseRead),
    [Symbol.asyncDispose]: () => close(),
  };
  return {
    channel,
    get queued() {
      return inbox.weight;
    },
    asks: mine,
    send,
    say,
    flushed: async () => port.flushed?.(),
    unconfirmed: () => unheard,
    fail,
  };
}

export { type Answered, Busy, OpenAsks, type Waiting } from "./exchange.js";
export { type Pace, PacedPort, type Waiter, waiter } from "./pace.js";
export { pair, type SocketLike, socketPort } from "./port.js";
export { Queue } from "./queue.js";
