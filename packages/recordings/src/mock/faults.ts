import { encode, type Port } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { type Block, Blocks } from "../blocks.js";
import { MAX_CONTENT } from "../bodies.js";
import type { Conversations } from "../conversation.js";
import { isEventStream } from "../recording.js";
import type { Answering, Arriving, Replayed } from "../replay/answering.js";
import { resumes } from "../replay/loaded.js";
import { malform } from "./malform.js";
import { type Drawn, Random } from "./random.js";

export type Fault = "cut" | "stall" | "malformed";

/** Faults of a mock's streams and channels. Steps are the server's messages, from 1; of a range each stream draws its own. */
export interface FaultOptions {
  /** Milliseconds before each answer and each message. */
  readonly latency?: Drawn | undefined;
  /** The message in whose place the connection is cut. A stream that a client resumes is not cut again. */
  readonly cut?: Drawn | undefined;
  /** The message from which on nothing is sent, and the connection stays open. */
  readonly stall?: Drawn | undefined;
  /** The message that breaks its schema, or is no JSON. */
  readonly malformed?: Drawn | undefined;
  /** The same seed and requests give the same faults. @default 1 */
  readonly seed?: number | undefined;
  /** Called for each fault of a stream or channel, when its message comes. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
}

const FAULTS: readonly Fault[] = ["cut", "stall", "malformed"];

/** Milliseconds before a cut. A client would otherwise lose what was sent before it, too. */
const ON_ITS_WAY = 20;

/** The faults of one stream or channel. */
interface Plan {
  readonly latency: () => number;
  readonly cut: number | undefined;
  readonly stall: number | undefined;
  readonly malformed: number | undefined;
  readonly acts: (fault: Fault) => void;
}

/** The server with faults. */
export function faulty(server: Answering, talk: Promise<Conversations>, options: FaultOptions): Answering {
  const random = new Random(options.seed ?? 1);
  const scope = Scope.open(() => {});
  const plan = (resumed: boolean): Plan => ({
    latency: () => random.draw(options.latency ?? 0),
    cut: resumed ? undefined : random.draw(options.cut),
    stall: resumed ? undefined : random.draw(options.stall),
    malformed: resumed ? undefined : random.draw(options.malformed),
    acts: options.onFault ?? (() => {}),
  });

  async function codecOf({ method, target }: Arriving) {
    const known = await talk;
    const names = [...(known.namesAt(method, target) ?? []), ...(known.namesAt("POST", target) ?? [])];
    const { operations, channels } = known.contract;
    const name = names.find((one) => channels[one] ?? operations[one]?.answer.stream);
    return name === undefined ? undefined : known.codec(name, "server");
  }

  return {
    async answer(asked) {
      const due = plan(resumes(asked.headers));
      await pause(scope, due.latency());
      const answered = await server.answer(asked);
      if (answered.status >= 400 || !isEventStream(answered.headers)) return answered;
      const codec = await codecOf(asked);
      const broken = ({ event }: Block) =>
        event && codec ? encode({ ...event, data: malform(codec, event.event, event.data, random) }) : undefined;
      return { ...answered, body: (signal) => events(scope, answered, due, broken, signal) };
    },
    async accept(asked) {
      const due = plan(false);
      await pause(scope, due.latency());
      const opened = await server.accept(asked);
      if ("refused" in opened) return opened;
      const codec = await codecOf(asked);
      const broken = (frame: string) => (codec ? malform(codec, undefined, frame, random) : frame);
      return { ...opened, run: (port) => opened.run(faultyPort(scope, port, due, broken)) };
    },
    close() {
      scope.close(new Error("the mock has closed"));
      return server.close();
    },
  };
}

/** The events of a stream, one by one; comments pass as they are. */
async function* events(
  scope: Scope,
  { body }: Replayed,
  plan: Plan,
  broken: (block: Block) => string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let waiting: Block[] = [];
  const blocks = new Blocks(
    MAX_CONTENT,
    (block) => void waiting.push(block),
    () => {},
  );
  let step = 0;
  for await (const chunk of body(signal)) {
    blocks.push(decoder.decode(chunk, { stream: true }));
    for (const block of waiting) {
      if (!block.event) {
        yield encoder.encode(block.raw);
        continue;
      }
      step++;
      await pause(scope, plan.latency(), signal);
      if (step === plan.stall) {
        plan.acts("stall");
        return await pause(scope, undefined, signal);
      }
      if (step === plan.cut) {
        plan.acts("cut");
        await pause(scope, ON_ITS_WAY, signal);
        throw new Error("the mock has cut the connection");
      }
      const wrong = step === plan.malformed ? broken(block) : undefined;
      if (wrong !== undefined) plan.acts("malformed");
      yield encoder.encode(wrong ?? block.raw);
    }
    waiting = [];
  }
}

/** The server's end of a channel. Frames keep their order, whatever their delays. */
function faultyPort(scope: Scope, port: Port, plan: Plan, broken: (frame: string) => string): Port {
  let step = 0;
  let isOver = false;
  let last: Promise<unknown> | undefined;
  const cut = () => (port.cut ? port.cut() : port.close(1006, ""));
  const send = (frame: string) => {
    if (isOver) return;
    step++;
    isOver = step === plan.stall || step === plan.cut;
    const fault = FAULTS.find((one) => plan[one] === step);
    if (fault) plan.acts(fault);
    if (step === plan.cut) void pause(scope, ON_ITS_WAY).then(cut);
    else if (!isOver) port.send(step === plan.malformed ? broken(frame) : frame);
  };
  const later = (run: () => void) => {
    const wait = plan.latency();
    if (wait === 0 && !last) return run();
    last = (last ?? Promise.resolve()).then(() => pause(scope, wait)).then(run);
  };
  return {
    ...(port.buffered && { buffered: () => port.buffered!() }),
    cut,
    send: (frame) => later(() => send(frame)),
    // A stalled server does not close either.
    close: (code, reason) => later(() => !isOver && port.close(code, reason)),
    listen: (on) => port.listen(on),
  };
}

/** Waits for a time. Without one it waits until the client leaves or the mock closes, which ends any wait. */
function pause(scope: Scope, milliseconds: number | undefined, signal?: AbortSignal): Promise<void> {
  if (milliseconds === 0) return Promise.resolve();
  return new Promise((resolve) => {
    if (scope.closed || signal?.aborted) return resolve();
    const wait = scope.child();
    const done = () => {
      wait.close();
      resolve();
    };
    if (milliseconds !== undefined) wait.timeout(milliseconds, done);
    wait.onAbort(scope.signal, done);
    if (signal) wait.onAbort(signal, done);
  });
}
