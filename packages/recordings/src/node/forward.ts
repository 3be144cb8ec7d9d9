import type { Readable, Writable } from "node:stream";
import type { Cutter } from "./cutter.js";
import type { Direction } from "./direction.js";

/** A direction that a tool may steer, and how its messages are cut. */
export interface Guided {
  readonly direction: Direction;
  readonly cut: Cutter;
  readonly socket?: boolean;
}

/**
 * Passes each chunk on as it comes, and shows it afterwards. The source waits while the sink is full.
 *
 * Not `pipe`, because nothing may come between a chunk and its forwarding: only chunks that were sent on are shown.
 */
export function forward(from: Readable, to: Writable, show: (chunk: Buffer) => void, guided?: Guided): void {
  const write = (chunk: Buffer) => {
    if (!to.destroyed && !to.writableEnded && !to.write(chunk)) {
      from.pause();
      to.once("drain", () => guided?.direction.flowing !== false && from.resume());
    }
    show(chunk);
  };
  if (!guided) return void from.on("data", write);
  const { direction, cut, socket = false } = guided;
  direction.attach(from, write, cut, socket);
  from.on("data", (chunk: Buffer) => direction.pass(chunk));
  from.on("end", () => direction.end());
  from.on("close", () => direction.end());
}
