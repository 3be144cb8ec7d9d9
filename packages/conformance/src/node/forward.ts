import type { Readable, Writable } from "node:stream";

/**
 * Passes each chunk on as it comes, and shows it afterwards. The source waits while the sink is full.
 *
 * `pipe` would do the same, but nothing may come between a chunk and its forwarding: what is shown is what was sent on.
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
