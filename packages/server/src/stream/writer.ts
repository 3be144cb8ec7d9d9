import { encodeComment } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { invoke } from "../callback.js";
import { defer } from "../defer.js";
import type { Limits } from "../limits.js";

/** The connection under a stream. Nothing is written to it after `end` or `cut`. */
export interface Sink {
  /** Returns a promise when no more should be written until it settles. */
  write(text: string): Promise<void> | undefined;
  end(): void;
  /** Closes the connection of a reader that takes nothing. */
  cut(): void;
}

/** Writes one stream to one sink. */
export interface SseWriter {
  /** Resolves when the stream is over, or its reader's scope is closed. */
  run(sink: Sink): Promise<void>;
}

export interface WriterOptions {
  readonly limits: Pick<Limits, "heartbeat" | "stall">;
  /** The headers were due before the first message: a comment follows them. */
  readonly headersDue?: boolean;
  /** The blocks of one tick come as one batch already. */
  readonly batched?: boolean;
}

/** Characters that are written without waiting for the end of the tick. */
export const FULL = 64 * 1024;

/**
 * Writes blocks of text to a sink. All blocks of one tick are one write, because joined events cost a third of single ones. The source is
 * read only while the sink has room, so a slow reader pauses a generator. `reader` closes with the last block.
 */
export function sseWriter(
  blocks: AsyncIterator<readonly string[]>,
  reader: Scope,
  { limits, headersDue, batched }: WriterOptions,
): SseWriter {
  return {
    async run(sink) {
      let failure: { readonly error: unknown } | undefined;
      /** A sink that fails is a connection that is lost. */
      const fail = (error: unknown): void => {
        failure ??= { error };
        out.cut();
        reader.close(error);
      };
      const out = output(sink, fail);
      if (reader.closed) return out.end();
      const closed = new Promise<void>((resolve) => reader.add(resolve));
      reader.add(() => out.end());
      if (limits.heartbeat > 0) reader.interval(limits.heartbeat, out.beat);
      if (headersDue) out.comment();
      async function pass(): Promise<void> {
        try {
          while (!reader.closed) {
            const step = await blocks.next();
            if (step.done || reader.closed) break;
            out.push(step.value, batched === true);
            if (out.room) await writable(out, reader, closed, limits.stall);
          }
        } finally {
          reader.close();
        }
      }
      // A handler that ignores its signal keeps `pass` waiting.
      await Promise.race([pass(), closed]);
      if (failure) throw failure.error;
    },
  };
}

/** Waits for room in the sink; a reader that takes nothing for too long is cut. */
async function writable(out: Output, reader: Scope, closed: Promise<void>, stall: number): Promise<void> {
  const stop = reader.timeout(stall, () => {
    out.cut();
    reader.close(new Error("the reader takes nothing"));
  });
  await Promise.race([out.room, closed]);
  stop();
}

interface Output {
  /** Pending while the sink has no room. */
  readonly room: Promise<void> | undefined;
  push(texts: readonly string[], now: boolean): void;
  comment(): void;
  /** A comment, where nothing was written since the last one. */
  beat(): void;
  /** Forgets what is not written, and cuts the sink. */
  cut(): void;
  /** Writes what is left, and ends the sink. */
  end(): void;
}

/** Buffers the text of one tick. `fail` gets what the sink throws or rejects with. */
function output(sink: Sink, fail: (error: unknown) => void): Output {
  let buffer = "";
  let scheduled = false;
  let quiet = true;
  let over = false;
  let room: Promise<void> | undefined;

  function write(text: string): void {
    try {
      // Heartbeats need to know of new room, also when no block waits for it.
      const full = sink.write(text)?.then(() => {
        if (room === full) room = undefined;
      }, fail);
      room = full;
    } catch (error) {
      fail(error);
    }
  }

  function flush(): void {
    scheduled = false;
    if (buffer === "" || over) return;
    const text = buffer;
    buffer = "";
    quiet = false;
    write(text);
  }

  return {
    get room() {
      return room;
    },
    push(texts, now) {
      for (const text of texts) buffer += text;
      if (now || buffer.length >= FULL) flush();
      else if (!scheduled) {
        scheduled = true;
        defer(flush);
      }
    },
    comment: () => write(encodeComment("")),
    beat() {
      if (quiet && !room && !over) write(encodeComment(""));
      quiet = true;
    },
    cut() {
      if (over) return;
      over = true;
      invoke(() => sink.cut(), fail);
    },
    end() {
      if (over) return;
      flush();
      if (over) return;
      over = true;
      invoke(() => sink.end(), fail);
    },
  };
}
