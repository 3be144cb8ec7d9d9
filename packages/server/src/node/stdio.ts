import { carriersOf, type Port, type PortEvents, Violation } from "@parlance/wire";
import { assertForms, assertLimits, type Forms, misuse } from "@parlance/wire/errors";
import { encodeLine, LineReader } from "@parlance/wire/lines";
import { Scope, until } from "@parlance/wire/scope";
import { LISTEN_LIMITS, type Limits } from "../limits.js";
import type { App } from "../serve.js";

export interface StdioOptions {
  /** The channel of the app's contract. @default the only one that stdio may carry */
  readonly channel?: string | undefined;
  /** The client's principal. Required if the app has `authenticate`, because a client on stdio sends no credentials. */
  readonly principal?: unknown;
  /** Milliseconds that handlers may take to finish once the conversation is over. @default 5 s */
  readonly closeAfter?: number | undefined;
}

const FORMS: Forms = { channel: "a string" };

/**
 * Serves a channel of an app on this process's standard input and output, one JSON text a line: for an editor that starts this program. Resolves
 * when the conversation is over and its handlers have finished, or `closeAfter` has passed: end the process then.
 *
 * Standard output is the protocol's alone, from now on: `console.log` and `process.stdout.write` write to standard error. The end of standard
 * input ends the conversation and aborts its handlers' signals; SIGTERM and SIGINT drain the app.
 *
 * @throws `TypeError` for a wrong option, `Refusal` where the channel is refused, `Violation` where a frame of the client ended the conversation
 */
export async function stdio(app: App, options: StdioOptions = {}): Promise<void> {
  const channel = channelOf(app, options);
  if (isServing) throw misuse("a process has one conversation on stdio, and this one has had it");
  isServing = true;
  const taken = takeStdout();
  const drain = () => app.drain();
  for (const signal of SIGNALS) process.once(signal, drain);
  const call = app.open();
  const port = new StdioPort(taken.write, app.limits);
  const ended = new Promise<void>((resolve) => call.add(() => resolve()));
  const conversed = app.carry(channel, port, options.principal, call);
  try {
    await Promise.race([ended, conversed]);
    await finishing(conversed, options.closeAfter ?? LISTEN_LIMITS.closeAfter);
  } catch (error) {
    // It was refused before the first frame.
    taken.release();
    isServing = false;
    throw error;
  } finally {
    port.release();
    for (const signal of SIGNALS) process.off(signal, drain);
  }
  if (call.reason instanceof Violation) throw call.reason;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Whether standard output is the protocol's. */
let isServing = false;

/** @throws `TypeError` that names the option */
function channelOf({ contract, authenticates }: App, options: StdioOptions): string {
  assertForms(options, FORMS);
  assertLimits(options, "closeAfter");
  const { channel, principal } = options;
  if (authenticates && principal === undefined)
    throw misuse(
      `${contract.name} has \`authenticate\`, and a client on stdio sends no credentials: give \`principal\``,
    );
  const carried = Object.keys(contract.channels).filter((name) =>
    carriersOf(contract.channels[name]!).includes("stdio"),
  );
  if (carried.length === 0)
    throw misuse(`${contract.name} has no channel for stdio: add "stdio" to the \`carriers\` of one`);
  if (channel === undefined ? carried.length > 1 : !carried.includes(channel))
    throw misuse(`channel is one of ${carried.join(", ")}, not ${channel}`);
  return channel ?? carried[0]!;
}

/** Takes standard output for the protocol. A client knows only by the end of the process that nothing follows. */
function takeStdout(): { write(text: string, done?: () => void): void; release(): void } {
  const { stdout, stderr } = process;
  const own = Object.getOwnPropertyDescriptor(stdout, "write");
  const write = stdout.write.bind(stdout) as (text: string, done?: () => void) => boolean;
  stdout.write = ((...given: Parameters<typeof stderr.write>) => stderr.write(...given)) as typeof stdout.write;
  return {
    write,
    release() {
      if (own) Object.defineProperty(stdout, "write", own);
      else Reflect.deleteProperty(stdout, "write");
    },
  };
}

async function finishing(conversed: Promise<void>, closeAfter: number): Promise<void> {
  const waiting = Scope.open(() => {});
  // The timer of the limit keeps no process alive, and a handler that hangs may hold nothing that does.
  const alive = setInterval(() => {}, 60_000);
  waiting.add(() => clearInterval(alive));
  await until(waiting, closeAfter, conversed);
}

/** Standard input and output as a port. */
class StdioPort implements Port {
  readonly #write: (text: string, done?: () => void) => void;
  readonly #limits: Limits;
  readonly #failed = () => this.#end(1006, "nobody reads the standard output");
  #on: PortEvents | undefined;
  #reader: LineReader | undefined;
  #isOver = false;

  constructor(write: (text: string, done?: () => void) => void, limits: Limits) {
    this.#write = write;
    this.#limits = limits;
    // EPIPE, which would end the process.
    process.stdout.on("error", this.#failed);
  }

  send(frame: string): void {
    if (!this.#isOver) this.#write(encodeLine(frame));
  }

  buffered(): number {
    return process.stdout.writableLength;
  }

  close(code: number, reason: string): void {
    // After everything that was written before.
    this.#write("", () => this.#end(code, reason));
  }

  cut(): void {
    this.#end(1006, "");
  }

  listen(on: PortEvents): void {
    this.#on = on;
    const { maxMessageSize: maxSize, maxQueued } = this.#limits;
    this.#reader = new LineReader(
      process.stdin,
      // Far enough below the limit, because some frames weigh more than their characters.
      { maxSize, ahead: maxQueued / 4 },
      {
        frame: on.frame,
        unread: on.unread,
        end: (rest) => (rest === 0 ? this.#end(1000, "the standard input ended") : this.#end(1006, "in a line")),
      },
    );
  }

  /** Lets the process end, which would wait for its input. */
  release(): void {
    this.#end(1006, "");
    this.#reader?.stop();
    process.stdin.pause();
    process.stdin.unref?.();
  }

  #end(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#on?.close(code, reason);
  }
}
