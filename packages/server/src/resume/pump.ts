import { Disconnected, formatCursor } from "@parlance/wire";
import { within } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import type { Production } from "../ports.js";
import { logFailed } from "../reason.js";
import type { EventWriter } from "./event-log.js";
import type { Run } from "./run.js";

/** Gives stored blocks to live readers. Returns true where one of them now has everything. */
function handOver(run: Run, blocks: readonly string[]): boolean {
  let taken = false;
  for (const live of run.live) {
    if (run.keepsAtOnce && live.take(blocks, run.last)) taken = true;
    else live.detach();
  }
  if (!taken) return false;
  if (run.ahead > 0) run.sizes.length = 0;
  run.ahead = 0;
  run.delivered = run.last;
  run.production?.delivered(run.last);
  return true;
}

/** Writes a production to its log until its handler is done, then closes the log. Never rejects. */
export async function pump(context: Context, run: Run, production: Production, writer: EventWriter): Promise<void> {
  const { limits, callbacks } = context;
  const { handler, life } = run;
  // Not the call: a closure of this function is kept with the stream, and with it all that any of them uses.
  const { operation } = run.called;
  const blocks = production.blocks((seq) => formatCursor({ epoch: writer.epoch, seq }));
  const over = new Promise<void>((resolve) => handler.add(resolve));
  let watched: Promise<void> | undefined;
  const pending = new Set<Promise<void>>();
  let failed = false;

  /** A log that fails ends the handler, with a `Disconnected` as the reason. */
  function watch(appended: Promise<void>): void {
    // A log that batches returns one promise for many entries.
    if (appended === watched) return;
    watched = appended;
    const kept = within(life, limits.storeWithin, "the event log", appended)
      .catch((error) => {
        if (life.closed || failed) return;
        failed = true;
        callbacks.report(error, "log", operation);
        handler.close(error instanceof Disconnected ? error : logFailed(error));
      })
      .finally(() => pending.delete(kept));
    pending.add(kept);
  }

  /** Waits until the readers, or one of them, have taken more. */
  function progress(): Promise<void> {
    return new Promise((resolve) => {
      run.wake = resolve;
    });
  }

  function give(texts: readonly string[]): void {
    if (texts.length === 0 || handOver(run, texts)) return;
    for (const { length } of texts) {
      run.sizes.push(length);
      run.ahead += length;
    }
  }

  async function write(): Promise<void> {
    for (let step = await blocks.next(); !step.done && !handler.closed; step = await blocks.next()) {
      run.keepsAtOnce = true;
      let texts = step.value;
      for (const [i, text] of step.value.entries()) {
        if (writer.hasRoom && !writer.hasRoom(text.length)) {
          // Readers that take messages as they are written have to get those first.
          const rest = step.value.length - i;
          give(texts.slice(0, -rest));
          texts = step.value.slice(i);
          while (!handler.closed && !writer.hasRoom(text.length)) await progress();
          if (handler.closed) return;
        }
        // Readers see only what the log has; how far it may be behind is bounded below.
        const appended = writer.append(++run.last, text);
        if (!appended) continue;
        run.keepsAtOnce = false;
        watch(appended);
      }
      give(texts);
      while (!handler.closed && run.ahead > limits.maxQueued) await progress();
    }
  }

  // A handler that ignores its signal keeps `write` waiting.
  await Promise.race([write().catch((error) => callbacks.report(error, "log", operation)), over]);
  // Waits for pending appends, so that nothing overtakes them.
  await Promise.all(pending);
  handler.close();
  if (life.closed) return;
  await within(life, limits.storeWithin, "the event log", () => writer.close()).catch((error) => {
    if (life.closed) return;
    callbacks.report(error, "log", operation);
    // Readers here get an error at least, and find a gap when they join again.
    run.lost = true;
    for (const reader of [...run.readers]) reader.close(error instanceof Disconnected ? error : logFailed(error));
  });
}
