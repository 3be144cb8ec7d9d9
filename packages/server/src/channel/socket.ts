import type { Port, PortEvents } from "@parlance/wire";
import { invoke } from "../callback.js";

/** A socket whose failures are a cut (1006): what an adapter's port throws or rejects with ends its conversation and nothing else. */
export function cutOnFailure(port: Port): Port {
  let on: PortEvents | undefined;
  let over: { readonly code: number; readonly reason: string } | undefined;

  function end(code: number, reason: string): void {
    if (over) return;
    over = { code, reason };
    on?.close(code, reason);
  }

  function fail(): void {
    if (over) return;
    invoke(
      () => port.cut?.(),
      () => {},
    );
    end(1006, "the socket failed");
  }

  return {
    // By hand, because every frame goes this way.
    send(frame) {
      if (over) return;
      try {
        const sent: unknown = port.send(frame);
        if (sent !== undefined) invoke(() => sent, fail);
      } catch {
        fail();
      }
    },
    close: (code, reason) => invoke(() => port.close(code, reason), fail),
    cut: () => invoke(() => port.cut?.(), fail),
    ...(port.buffered && { buffered: () => port.buffered!() }),
    listen(events) {
      on = events;
      // Frames that were sent before may have failed.
      if (over) return events.close(over.code, over.reason);
      invoke(() => port.listen({ frame: (text) => over || events.frame(text), close: end }), fail);
    },
  };
}
