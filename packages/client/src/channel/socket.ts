import { notify, type OpenSocket, type Port, type PortEvents } from "@parlance/wire";
import type { Lifetime } from "../lifetime.js";

/** Milliseconds that a peer may take to confirm a close. */
const CLOSE_WITHIN = 10_000;

type Opened = Awaited<ReturnType<OpenSocket>>;

/** Opens a socket by a user's function. It is closed when the request ends before somebody listens to it, however late it comes. */
export async function openPort(
  webSocket: OpenSocket,
  url: string,
  init: Omit<Parameters<OpenSocket>[1], "signal">,
  { signal }: Lifetime,
): Promise<Opened> {
  signal.throwIfAborted();
  const opened = await webSocket(url, { ...init, signal });
  if ("refused" in opened) return opened;
  const port = guarded(opened, signal);
  signal.throwIfAborted();
  return port;
}

/** A user's port as one that never fails: an error of it is a cut, and so is a close that is not confirmed in time. */
function guarded(port: Port, signal: AbortSignal): Port {
  let on: PortEvents | undefined;
  let over: { readonly code: number; readonly reason: string } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function end(code: number, reason: string): void {
    if (over) return;
    over = { code, reason };
    clearTimeout(timer);
    on?.close(code, reason);
  }

  function cut(): void {
    // 1012 lets the server wait for another socket.
    notify(
      () => (port.cut ? port.cut() : port.close(1012, "")),
      undefined,
      () => {},
    );
    end(1006, "");
  }

  function close(code: number, reason: string): void {
    if (over) return;
    timer ??= setTimeout(cut, CLOSE_WITHIN);
    notify(() => port.close(code, reason), undefined, cut);
  }

  function unused(): void {
    // Only a port that is listened to hears that its peer has confirmed.
    listen({ frame() {}, close() {} });
    close(1000, "");
  }

  function listen(events: PortEvents): void {
    signal.removeEventListener("abort", unused);
    on = events;
    if (over) return events.close(over.code, over.reason);
    const frame = (text: string) => over || events.frame(text);
    notify(() => port.listen({ frame, close: end }), undefined, cut);
  }

  if (signal.aborted) unused();
  else signal.addEventListener("abort", unused);
  return {
    listen,
    close,
    cut,
    send: (frame) => notify((text: string) => port.send(text), frame, cut),
    buffered: () => port.buffered?.() ?? 0,
  };
}
