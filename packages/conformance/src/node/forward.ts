import type { Readable, Writable } from "node:stream";

/**
 * Passes each chunk on as it comes, and shows it afterwards. The source waits while the sink is full.
 *
 * Not `pipe`, because nothing may come between a chunk and its forwarding: only chunks that were sent on are shown.
 */
export function forward(from: Readable, to: Writable, show: (chunk: Buffer) => void): void {
  from.on("data", (chunk: Buffer) => {
    if (!to.destroyed && !to.writableEnded && !to.write(chunk)) {
      from.pause();
      to.once("drain", () => from.resume());
    }
    show(chunk);
  });
}
