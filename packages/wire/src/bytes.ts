/** The used part of a Node readable stream: an incoming request or answer. */
export interface ByteSource {
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "end" | "close" | "error", listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/**
 * A Node stream as a web stream, at its reader's pace. It errors when the source closes before its end. `cancel` is called when the reader
 * cancels; what arrives after that is dropped.
 *
 * Node's own `Readable.toWeb` throws out of a data event, and so ends the process, when a chunk arrives after the reader has cancelled.
 */
export function webStream(source: ByteSource, cancel: () => void): ReadableStream<Uint8Array> {
  let over = false;
  const finish = (act: () => void): void => {
    if (over) return;
    over = true;
    act();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = () => finish(() => controller.error(new Error("the body was cut")));
        source.on("data", (chunk) => {
          if (over) return;
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) <= 0) source.pause();
        });
        source.on("end", () => finish(() => controller.close()));
        source.on("error", fail);
        source.on("close", fail);
        source.pause();
      },
      pull: () => void source.resume(),
      cancel: () => finish(cancel),
    },
    { highWaterMark: 0 },
  );
}
