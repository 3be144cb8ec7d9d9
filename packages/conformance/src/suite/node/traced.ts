import type { Socket } from "node:net";
import type { Trace } from "../trace.js";

/** Records the bytes of a socket in both directions. */
export function traced(socket: Socket, trace: Trace): Socket {
  const c = trace.connection();
  const write = socket.write;
  socket.write = ((chunk: string | Uint8Array, ...rest: never[]) => {
    trace.note(c, "kit", textOf(chunk));
    return write.call(socket, chunk, ...rest);
  }) as typeof socket.write;
  // Emitted rather than listened for: a listener would change the flow of the stream.
  const emit = socket.emit;
  socket.emit = ((event: string, ...rest: unknown[]) => {
    if (event === "data") {
      const bytes = rest[0] as Uint8Array;
      trace.note(c, "peer", textOf(bytes));
      if (!trace.budget.take(bytes.length)) socket.destroy();
    }
    return Reflect.apply(emit, socket, [event, ...rest]) as boolean;
  }) as typeof socket.emit;
  return socket;
}

function textOf(chunk: string | Uint8Array): string {
  // Of a long body the beginning says enough.
  const short = typeof chunk === "string" ? chunk.slice(0, 66_000) : Buffer.from(chunk.subarray(0, 66_000)).toString();
  return short;
}
