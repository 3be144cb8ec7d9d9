import { type Cursor, formatResumable, type Gap, isKey, RESUME, Refusal } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import { type Context, sessionOf } from "../call.js";
import type { Answer } from "../http/answer.js";
import { STREAM_HEADERS } from "../http/response.js";
import type { Called } from "../options.js";
import type { Produce, StreamDelivery } from "../ports.js";
import { cancelled, closing, gone } from "../reason.js";
import { sseWriter } from "../stream/writer.js";
import type { EventLog, EventWriter } from "./event-log.js";
import { conversationName } from "./key.js";
import { pump } from "./pump.js";
import { readers } from "./readers.js";
import type { RemoteStreams, Run } from "./run.js";
import { tombstones } from "./tombstones.js";

/** Streams that outlive their reader's connection: their handlers write to an event log, and readers read from it. */
export interface ResumableStreams extends StreamDelivery {
  /** Answers a reader that joins a stream after a cursor; undefined where there is no such stream. */
  join(name: string, cursor: Cursor | undefined, call: Scope): Promise<Answer | { readonly gap: Gap } | undefined>;
  /** Ends a stream. False when there is none: one whose request is still on its way does not begin then. */
  cancel(name: string): Promise<boolean>;
}

export function resumableStreams(
  context: Context,
  direct: StreamDelivery,
  log: EventLog,
  remote: RemoteStreams | undefined,
): ResumableStreams {
  const { limits, places, root, shutdown, contract, sessions, callbacks } = context;
  const running = new Map<string, Run>();
  const { bury } = tombstones(limits, root);
  const reading = readers(context, log, remote);

  /** Waits for the log within its limit. */
  const store = <T>(scope: Scope, start: () => Promise<T>, late?: (value: T) => unknown): Promise<T> =>
    within(scope, limits.storeWithin, "the event log", start, late);

  /** Reserves the name first, so that a duplicated request runs the handler once. Undefined when it is taken. */
  async function reserve(name: string, called: Called): Promise<Run | undefined> {
    if (running.has(name)) return undefined;
    const life = root.child();
    let opening!: (writer: EventWriter | undefined) => void;
    const run: Run = {
      name,
      called,
      life,
      handler: life.child("streams"),
      opened: new Promise((resolve) => {
        opening = resolve;
      }),
      readers: new Set(),
      last: 0,
      delivered: 0,
      sizes: [],
      ahead: 0,
      wake: () => {},
      lost: false,
      stopWaiting: () => {},
      discard: () => {},
    };
    running.set(name, run);
    life.add(() => {
      opening(undefined);
      if (running.get(name) === run) running.delete(name);
      return run.discard();
    });
    try {
      places.take(called.principal, "stream", run.handler);
      // In this order: a cancel that finds the name taken reaches the server that has it.
      await remote?.listen(name, life, {
        reach: (seq) => reached(run, seq),
        cancel: () => void cancelRun(run).catch((error) => callbacks.report(error, "log", called.operation)),
      });
      const writer = await store(
        life,
        () => log.open(name),
        (late) => late?.drop(),
      );
      if (!writer || run.handler.closed) {
        if (writer) await bury(writer, 0);
        life.close();
        return undefined;
      }
      run.discard = () => writer.close();
      opening(writer);
      return run;
    } catch (error) {
      life.close(error);
      throw error;
    }
  }

  /** The handler is cancelled after the grace period without a reader. Then the entries are dropped. */
  function wait(run: Run, milliseconds = limits.grace): void {
    run.stopWaiting();
    run.stopWaiting = run.life.timeout(milliseconds, () => void expire(run, gone()));
  }

  async function expire(run: Run, reason: unknown): Promise<void> {
    giveBack(run, reason);
    const writer = await run.opened;
    try {
      if (writer) await store(root, () => writer.close().then(() => writer.drop()));
      run.discard = () => {};
    } catch (error) {
      callbacks.report(error, "log", run.called.operation);
    } finally {
      run.life.close();
    }
  }

  /** Ends the handler. Messages that others sent to its session, and that no reader got, wait for the next reader. */
  function giveBack(run: Run, reason: unknown): void {
    if (run.handler.closed) return;
    run.handler.close(reason);
    const session = sessionOf(context, run.called);
    const messages = run.production?.undelivered() ?? [];
    if (session === undefined || messages.length === 0) return;
    try {
      sessions.requeue(session, messages);
    } catch (error) {
      callbacks.report(error, "a session without a reader", run.called.operation);
    }
  }

  async function cancelRun(run: Run): Promise<void> {
    giveBack(run, cancelled());
    for (const reader of [...run.readers]) reader.close(cancelled());
    const writer = await run.opened;
    run.discard = () => {};
    run.life.close();
    if (writer) await store(root, () => bury(writer, run.last));
  }

  /** A reader elsewhere has everything up to a place. */
  function reached(run: Run, seq: number): void {
    if (run.life.closed) return;
    reading.advance(run, seq);
    if (run.readers.size === 0) wait(run);
  }

  function answerOf(run: Run | undefined, name: string, epoch: string, after: number, call: Scope): Answer {
    const { grace, heartbeat } = limits;
    const reader = call.child("readers");
    if (run) {
      run.stopWaiting();
      run.readers.add(reader);
      reader.add(() => {
        run.readers.delete(reader);
        if (run.readers.size === 0 && !run.life.closed) wait(run);
      });
    }
    const blocks = reading.read(run, name, after, reader);
    const headersDue = run !== undefined && run.last === 0 && (run.production?.headersDue ?? true);
    const headers = {
      ...STREAM_HEADERS,
      [RESUME]: formatResumable({ epoch, grace: grace / 1000, beat: heartbeat / 1000 }),
    };
    return { status: 200, headers, body: sseWriter(blocks, reader, { limits, headersDue, batched: true }) };
  }

  async function begin(run: Run, call: Scope, produce: Produce): Promise<Answer> {
    const writer = (await run.opened)!;
    let answered = false;
    call.add(() => {
      if (!answered && run.readers.size === 0) wait(run, Math.min(limits.grace, limits.tombstoneLife));
    });
    if (contract.operations[run.called.operation]!.answer.stream!.end === undefined)
      shutdown.onDrain(run.handler, () => run.handler.close(closing()));
    try {
      run.production = await produce(run.handler);
    } catch (error) {
      answered = true;
      await expire(run, error);
      throw error;
    }
    answered = true;
    void pump(context, run, run.production, writer).then(() => {
      if (run.readers.size === 0) wait(run);
    });
    // Not answered any more, and perhaps joined already.
    if (call.closed) throw call.reason;
    return answerOf(run, run.name, writer.epoch, 0, call);
  }

  return {
    async deliver(called, call, produce) {
      const { headers, method, url } = called.request;
      const key = headers.get(RESUME);
      if (!isKey(key)) return direct.deliver(called, call, produce);
      const name = conversationName(context, called.operation, new URL(url).pathname, called.principal, key);
      const run = await reserve(name, called);
      if (run) return begin(run, call, produce);
      // The copy of a GET joins what the first has begun. With a cursor it was a join already, of a stream that is over.
      const joined = method === "GET" && !headers.has("Last-Event-ID") && (await this.join(name, undefined, call));
      if (joined && !("gap" in joined)) return joined;
      throw new Refusal("this resume key is in use or was cancelled: join it by GET", { status: 409 });
    },
    async join(name, cursor, call) {
      const run = running.get(name);
      const missing = cursor && { gap: { after: cursor.seq } };
      if (run?.lost) return missing;
      await run?.opened;
      const state = await store(call, () => log.state(name));
      if (!state) return missing;
      if (cursor && cursor.epoch !== state.epoch) return missing;
      const after = cursor?.seq ?? 0;
      if (after + 1 < state.first) return { gap: { after, first: state.first } };
      // A fully read stream has nothing to resume.
      if (cursor && state.closed && after >= state.last) return undefined;
      return answerOf(running.get(name), name, state.epoch, after, call);
    },
    async cancel(name) {
      const run = running.get(name);
      if (run) {
        await cancelRun(run);
        return true;
      }
      if (await remote?.cancel(name)) return true;
      // Taken: it is over, or another server has begun it this moment and listens by now.
      const writer = await store(
        root,
        () => log.open(name),
        (late) => late?.drop(),
      );
      if (!writer) return (await remote?.cancel(name)) ?? false;
      await store(root, () => bury(writer, 0));
      return false;
    },
  };
}
