import { type Bytes, misuse } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";
import type { Sink, SseWriter } from "./writer.js";

/** Writes bytes to one sink, reading their source only while it has room. A failed source cuts the sink, so that the peer notices. */
export class ByteWriter implements SseWriter {
  readonly #bytes: ReadableStreamDefaultReader<Uint8Array>;
  readonly #reader: Scope;
  readonly #limits: Pick<Limits, "stall">;
  readonly #report: (error: unknown) => void;

  constructor(bytes: Bytes, reader: Scope, limits: Pick<Limits, "stall">, report: (error: unknown) => void) {
    const source: ReadableStream<Uint8Array> =
      bytes instanceof ReadableStream ? bytes : new Response(bytes as BodyInit).body!;
    this.#bytes = source.getReader();
    // It ends a read that waits, and releases bytes that nobody reads: the answer to a HEAD, or to a caller that has gone.
    reader.add(() => void this.#bytes.cancel(reader.reason).catch(() => {}));
    this.#reader = reader;
    this.#limits = limits;
    this.#report = report;
  }

  async run(sink: Sink): Promise<void> {
    const reader = this.#reader;
    const bytes = this.#bytes;
    let whole = false;
    try {
      for (let step = await bytes.read(); !reader.closed && !step.done; step = await bytes.read()) {
        if (!(step.value instanceof Uint8Array)) throw misuse("a stream of bytes has chunks of type Uint8Array");
        const room = sink.write(step.value);
        if (room) await within(reader, this.#limits.stall, "the reader", room);
      }
      whole = !reader.closed;
    } catch (error) {
      if (!reader.closed) this.#report(error);
    }
    if (whole) sink.end();
    else if (sink.cutAfterWrites) sink.cutAfterWrites();
    else sink.cut();
    reader.close();
  }
}

/** The size of bytes in memory; undefined for a stream. */
export function sizeOf(bytes: Bytes): number | undefined {
  if (bytes instanceof Blob) return bytes.size;
  return bytes instanceof Uint8Array ? bytes.byteLength : undefined;
}
