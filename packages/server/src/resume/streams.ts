import { type Cursor, Disconnected, formatResumable, type Gap, isKey, RESUME, Refusal } from "@parlance/wire";
import { type Scope, until, within } from "@parlance/wire/scope";
import { type Context, received, refusalOf } from "../call.js";
import type { Called } from "../hooks.js";
import type { Answer } from "../http/answer.js";
import type { HttpRequest } from "../http/request.js";
import { gapAnswer, STREAM_HEADERS } from "../http/response.js";
import { conversationName, ownerIn } from "../identity.js";
import type { Produce, RemoteStreams, StreamDelivery } from "../ports.js";
import { cancelled, closing, gone, logFailed } from "../reason.js";
import { BlockWriter } from "../stream/writer.js";
import { beginsElsewhere } from "./elsewhere.js";
import type { EventLog, EventWriter } from "./event-log.js";
import { pump } from "./pump.js";
import { type Readers, readers } from "./readers.js";
import { givenOf, newRun, type Run } from "./run.js";
import {
  type FinishedRuns,
  finishedRuns,
  type OverNames,
  overNames,
  type Tombstones,
  tombstones,
} from "./tombstones.js";

/** Streams that outlive their reader's connection: their handlers write to an event log, and readers read from it. */
export class ResumableStreams implements StreamDelivery {
  readonly #context: Context;
  readonly #direct: StreamDelivery;
  readonly #log: EventLog;
  readonly #remote: RemoteStreams | undefined;
  readonly #running = new Map<string, Run>();
  readonly #tombstones: Tombstones;
  /** Names of dropped streams that began here. */
  readonly #over: OverNames;
  readonly #readers: Readers;
  readonly #finished: FinishedRuns;

  constructor(context: Context, direct: StreamDelivery, log: EventLog, remote: RemoteStreams | undefined) {
    this.#context = context;
    this.#direct = direct;
    this.#log = log;
    this.#remote = remote;
    this.#tombstones = tombstones(context.limits, context.root);
    this.#over = overNames(context.limits.maxTombstones);
    this.#readers = readers(context, log, remote);
    this.#finished = finishedRuns(context.limits, (run) => {
      this.#over.add(run.name);
      void this.#expire(run, gone());
    });
  }

  async deliver(called: Called, request: HttpRequest, call: Scope, produce: Produce): Promise<Answer> {
    const key = request.headers.get(RESUME);
    if (!isKey(key)) return this.#direct.deliver(called, request, call, produce);
    const { contract, ownerOf } = this.#context;
    const name = conversationName(contract.name, called.operation, request.pathname, ownerOf(called.principal), key);
    const run = await this.#reserve(name, called);
    if (run) return this.#begin(run, call, produce);
    // Of two copies each may be the one that its caller reads, so the later one joins what the first has begun.
    const joined = await this.#joinCopy(name, called, request, call);
    if (joined) return joined;
    // Its first message may have been one of those that the log has refused.
    if (this.#running.get(name)?.lost) throw logFailed();
    throw new Refusal("this resume key is in use, over or cancelled: join it by GET", { status: 409 });
  }

  /** Undefined for a stream that was cancelled, and for a GET with a cursor: that was a join already, of a stream that is over. */
  async #joinCopy(
    name: string,
    { principal, operation }: Called,
    request: HttpRequest,
    call: Scope,
  ): Promise<Answer | undefined> {
    if (request.headers.has("Last-Event-ID")) return undefined;
    this.#context.ledger.take(this.#context.ownerOf(principal), "reader", call);
    const run = this.#running.get(name);
    // Without a writer it was another copy of the request, which has found the name taken.
    const isOurs = (await run?.opened) !== undefined;
    if (run && isOurs) await this.#begun(run, call);
    const state = await this.#store(call, () => this.#log.state(name));
    // The log has lost it.
    if (!state && isOurs && run?.production)
      return gapAnswer(this.#context, request, { after: 0 }, "messages", operation);
    if (!state || (state.closed && state.last === 0)) return undefined;
    if (!isOurs && state.last === 0 && !(await beginsElsewhere(this.#context, this.#remote, this.#readers, name, call)))
      return undefined;
    const joined = await this.join(name, undefined, call);
    return joined && !("gap" in joined) ? joined : undefined;
  }

  /** Waits for the first message, as the first request does: the handler may refuse. */
  async #begun(run: Run, call: Scope): Promise<void> {
    const waiting = call.child("readers");
    this.#attend(run, waiting);
    await until(waiting, Number.POSITIVE_INFINITY, run.begun);
  }

  /**
   * Answers a reader that joins a stream after a cursor; undefined where there is no such stream. `admit` may refuse one that would be
   * joined: it is awaited before the reader has any effect.
   */
  async join(
    name: string,
    cursor: Cursor | undefined,
    call: Scope,
    admit?: () => Promise<void>,
  ): Promise<Answer | { readonly gap: Gap } | undefined> {
    const run = this.#running.get(name);
    // Without a cursor it may be a GET whose first answer was lost. Begun again, the stream would lack what that answer had.
    const missing = cursor || this.#over.has(name) ? { gap: { after: cursor?.seq ?? 0 } } : undefined;
    if (run?.lost) return missing;
    await run?.opened;
    const state = await this.#store(call, () => this.#log.state(name));
    if (!state) return missing;
    if (cursor && cursor.epoch !== state.epoch) return missing;
    const after = cursor?.seq ?? 0;
    if (after + 1 < state.first) return { gap: { after, first: state.first } };
    // The log has lost entries that this reader had.
    if (after > state.last) return missing;
    if (state.closed) {
      if (run && !run.handler.closed) {
        this.#lose(run);
        return { gap: { after } };
      }
      // Messages that the log has not stored are lost.
      const written = Math.max(state.last, run?.last ?? 0);
      // A fully read stream has nothing to resume.
      if (cursor && after >= written) return undefined;
      const [next] = await this.#store(call, () => this.#log.read(name, after, 1));
      if (after < written && next?.seq !== after + 1) return { gap: { after, ...(next && { first: next.seq }) } };
    }
    if (admit) {
      await admit();
      // The stream may have ended meanwhile.
      return this.join(name, cursor, call);
    }
    return this.#answer(this.#running.get(name), name, state.epoch, after, call);
  }

  /** Ends a handler whose writer the log has closed, because new messages would not be stored. */
  #lose({ handler, called }: Run): void {
    const error = new Disconnected("the event log has closed the stream", { code: "closed", retryable: true });
    this.#context.callbacks.report(error, "log", called.operation);
    handler.close(error);
  }

  /** Ends a stream. False when there is none: one whose request is still on its way does not begin then. */
  async cancel(name: string): Promise<boolean> {
    const run = this.#running.get(name);
    if (run) {
      await this.#cancelRun(run);
      return true;
    }
    if (await this.#remote?.cancel(name)) return true;
    const writer = await this.#open(this.#context.root, name);
    // Taken: it is over, or another server has begun it this moment and listens by now.
    if (!writer) return (await this.#remote?.cancel(name)) ?? false;
    await this.#store(this.#context.root, () => this.#tombstones.mark(writer, 0));
    return false;
  }

  /** Waits for the log within its limit. Rejects with `Disconnected`, as a log that takes too long does: the peer may try again. */
  async #store<T>(scope: Scope, start: () => Promise<T>, late?: (value: T) => unknown): Promise<T> {
    try {
      return await within(scope, this.#context.limits.storeWithin, "the event log", start, late);
    } catch (error) {
      if (scope.closed || error instanceof Disconnected) throw error;
      throw logFailed(error);
    }
  }

  #open(scope: Scope, name: string, given?: () => number): Promise<EventWriter | undefined> {
    return this.#store(
      scope,
      () => this.#log.open(name, given),
      (late) => late?.drop(),
    );
  }

  /** Reserves the name first, so that a duplicated request runs the handler once. Undefined when it is taken. */
  async #reserve(name: string, called: Called): Promise<Run | undefined> {
    if (this.#running.has(name) || this.#over.has(name)) return undefined;
    const { root, ledger } = this.#context;
    const { run, opened } = newRun(name, called, root);
    const owner = ownerIn(name);
    const { life } = run;
    this.#running.set(name, run);
    // Its input is needed until the handler is done, also where the caller has gone.
    received(called)?.moveTo(run.handler);
    ledger.hold(owner, life, (reason) => this.#end(run, reason));
    life.add(() => {
      opened(undefined);
      if (this.#running.get(name) === run) this.#running.delete(name);
      return run.discard();
    });
    try {
      ledger.take(owner, "stream", run.handler);
      // In this order: a cancel that finds the name taken reaches the server that has it.
      await this.#remote?.listen(name, life, {
        reach: (seq, reader) => this.#reached(run, seq, reader),
        leave: (reader) => this.#left(run, reader),
        cancel: () => this.#end(run, cancelled()),
      });
      const writer = await this.#open(life, name, () => givenOf(run));
      if (!writer || run.handler.closed) {
        if (writer) await this.#store(life, () => this.#tombstones.mark(writer, 0));
        life.close();
        return undefined;
      }
      run.discard = () => this.#context.lastCalls.add(writer.close());
      opened(writer);
      return run;
    } catch (error) {
      life.close(error);
      throw error;
    }
  }

  async #begin(run: Run, call: Scope, produce: Produce): Promise<Answer> {
    const { contract, limits, shutdown } = this.#context;
    const writer = (await run.opened)!;
    const { method, answer } = contract.operations[run.called.operation]!;
    const { end, sentinel } = answer.stream!;
    // A client sends a GET again for as long as its contract says; after another request it asks for a few seconds.
    const unanswered = method === "GET" ? limits.grace : Math.min(limits.grace, limits.tombstoneLife);
    let answered = false;
    call.add(() => {
      if (!answered && run.readers.size === 0) this.#wait(run, unanswered);
    });
    if ((end ?? sentinel) === undefined) shutdown.onDrain(run.handler, () => run.handler.close(closing()));
    try {
      run.production = await produce(run.handler);
      run.begin();
    } catch (error) {
      answered = true;
      if (!run.handler.closed) {
        run.begin(error);
        this.#remote?.refuse(run.name, refusalOf(error));
      }
      await this.#expire(run, error);
      throw error;
    }
    answered = true;
    void pump(this.#context, run, run.production, writer).then(() => {
      if (run.readers.size === 0) this.#wait(run);
      this.#finished.add(run);
    });
    // Its connection is gone. It may have been joined already.
    if (call.closed) throw call.reason;
    return this.#answer(run, run.name, writer.epoch, 0, call);
  }

  #answer(run: Run | undefined, name: string, epoch: string, after: number, call: Scope): Answer {
    const { ledger, limits } = this.#context;
    const reader = call.child("readers");
    const held = (of: Scope) => ledger.held(ownerIn(name), of);
    if (run) this.#attend(run, reader);
    const blocks = this.#readers.read(run, name, after, reader);
    const headersDue = run !== undefined && run.last === 0 && (run.production?.headersDue ?? true);
    const resumable = formatResumable({ epoch, grace: limits.grace / 1000, beat: limits.heartbeat / 1000 });
    return {
      status: 200,
      headers: { ...STREAM_HEADERS, [RESUME]: resumable },
      body: new BlockWriter(blocks, reader, { limits, held, headersDue, batched: true }),
    };
  }

  /** Keeps a run from expiring while it has a reader. */
  #attend(run: Run, reader: Scope): void {
    run.stopWaiting();
    run.readers.add(reader);
    reader.add(() => {
      run.readers.delete(reader);
      if (run.readers.size === 0 && !run.life.closed) this.#wait(run);
    });
  }

  /** Notes that a reader on another server has everything up to a place. */
  #reached(run: Run, seq: number, reader: string): void {
    if (run.life.closed) return;
    run.distant.get(reader)?.forget();
    const forget = run.life.timeout(this.#context.limits.grace, () => this.#left(run, reader));
    run.distant.set(reader, { taken: seq, forget });
    this.#readers.advance(run, seq);
    if (run.readers.size === 0) this.#wait(run);
  }

  #left(run: Run, reader: string): void {
    run.distant.get(reader)?.forget();
    if (run.distant.delete(reader)) run.wake();
  }

  /** Cancels the handler after the grace period without a reader, then drops the entries. */
  #wait(run: Run, milliseconds = this.#context.limits.grace): void {
    run.stopWaiting();
    run.stopWaiting = run.life.timeout(milliseconds, () => {
      this.#over.add(run.name);
      void this.#expire(run, gone());
    });
  }

  async #expire(run: Run, reason: unknown): Promise<void> {
    run.handler.close(reason);
    const writer = await run.opened;
    try {
      // A log that cannot close the stream may still drop it.
      const drop = () => writer?.drop();
      if (writer) await this.#store(this.#context.root, () => writer.close().then(drop, drop));
      run.discard = () => {};
    } catch (error) {
      this.#context.callbacks.report(error, "log", run.called.operation);
    } finally {
      run.life.close();
    }
  }

  #end(run: Run, reason: unknown): void {
    this.#cancelRun(run, reason).catch((error) => {
      if (!this.#context.root.closed) this.#context.callbacks.report(error, "log", run.called.operation);
    });
  }

  async #cancelRun(run: Run, reason: unknown = cancelled()): Promise<void> {
    this.#over.add(run.name);
    run.handler.close(reason);
    for (const reader of [...run.readers]) reader.close(reason);
    const writer = await run.opened;
    run.discard = () => {};
    run.life.close();
    if (writer) await this.#store(this.#context.root, () => this.#tombstones.mark(writer, run.last));
  }
}
