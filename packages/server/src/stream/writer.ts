import { encodeComment } from "@parlance/wire";
import { defer } from "./defer.js";

/** Where the text of a stream goes. */
export interface Sink {
  /** Returns a promise when no more should be written until it settles. */
  write(text: string): Promise<void> | undefined;
  end(): void;
  /** Gives up on a reader that takes nothing. */
  cut(): void;
}

/** A stream's text, ready to be written to one sink. */
export interface Feed {
  /** Writes everything; resolves when the stream is over or `stop` was called. */
  run(sink: Sink): Promise<void>;
  /** The reader has gone. */
  stop(): void;
}

export interface FeedOptions {
  /** Milliseconds between heartbeats; 0 for none. */
  readonly heartbeat: number;
  /** A heartbeat is due already. */
  readonly late?: boolean;
  /** What is said within one tick comes as one already. */
  readonly joined?: boolean;
  /** Milliseconds after which a reader that takes nothing is cut. */
  readonly stall: number;
  readonly onStop: () => void;
}

/** Characters that are written without waiting for the end of the tick. */
const FULL = 64 * 1024;

/**
 * Blocks of text, as many as there are at a time, to a sink. What is said within one tick is one write: joined events cost a third of single ones. The source is
 * asked for more only when the sink has room, so a slow reader pauses a generator.
 */
export function feed(
  blocks: AsyncIterator<readonly string[]>,
  { heartbeat, late, joined, stall, onStop }: FeedOptions,
): Feed {
  let stopped = false;
  /** Ends the wait for room. */
  let wake = () => {};

  async function run(sink: Sink): Promise<void> {
    let buffer = "";
    let scheduled = false;
    let room: Promise<void> | undefined;
    let quiet = true;

    function flush(): void {
      scheduled = false;
      if (buffer === "" || stopped) return;
      const text = buffer;
      buffer = "";
      quiet = false;
      write(text);
    }
    function write(text: string): void {
      // Nobody may be waiting for room when there is some again, and heartbeats need it too.
      const full = sink.write(text)?.then(() => {
        if (room === full) room = undefined;
      });
      room = full;
    }
    const beat = setInterval(
      () => {
        if (quiet && !room) write(encodeComment(""));
        quiet = true;
      },
      heartbeat || 2 ** 31 - 1,
    );

    if (late && !stopped) write(encodeComment(""));

    try {
      while (!stopped) {
        const step = await blocks.next();
        if (step.done || stopped) break;
        for (const block of step.value) buffer += block;
        if (joined || buffer.length >= FULL) flush();
        else if (!scheduled) {
          scheduled = true;
          defer(flush);
        }
        if (room) {
          const stalled = setTimeout(() => {
            sink.cut();
            halt();
          }, stall);
          const writable = room;
          await new Promise<void>((resolve) => {
            wake = resolve;
            writable.then(resolve);
          });
          clearTimeout(stalled);
          room = undefined;
        }
      }
      flush();
      if (!stopped) sink.end();
    } finally {
      clearInterval(beat);
    }
  }

  function halt(): void {
    if (stopped) return;
    stopped = true;
    wake();
    onStop();
  }

  return { run, stop: halt };
}

/** A feed as a web stream: the body of a `Response`. Aborting the request errors it, as with any fetch. */
export function readable(source: Feed, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let wanted: (() => void) | undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const sink: Sink = {
          write(text) {
            controller.enqueue(encoder.encode(text));
            if ((controller.desiredSize ?? 0) > 0) return undefined;
            return new Promise((resolve) => {
              wanted = resolve;
            });
          },
          end: () => controller.close(),
          cut: () => controller.error(new Error("the reader takes nothing")),
        };
        const abort = () => {
          source.stop();
          controller.error(signal.reason);
        };
        signal.addEventListener("abort", abort, { once: true });
        source
          .run(sink)
          .catch((error) => controller.error(error))
          .finally(() => signal.removeEventListener("abort", abort));
      },
      pull() {
        wanted?.();
        wanted = undefined;
      },
      cancel: () => source.stop(),
    },
    { highWaterMark: FULL, size: (chunk) => chunk?.length ?? 0 },
  );
}
