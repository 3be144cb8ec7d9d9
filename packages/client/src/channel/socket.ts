import type { AnyContract, OpenSocket, Port, PortEvents } from "@parlance/wire";
import { brief, Disconnected, disconnected, MAX_QUOTED, misuse, notify } from "@parlance/wire/errors";
import { socketPort } from "@parlance/wire/link";
import { refusalOf, why } from "../failures.js";
import type { Lifetime } from "../lifetime.js";
import { type ConnectOptions, MAX_MESSAGE_SIZE } from "../options.js";

/** Milliseconds that a peer may take to confirm a close. */
const CLOSE_WITHIN = 10_000;

/** Opens a channel's sockets with the user's function. A socket is closed when its request ends before `listen`. */
export function sockets(
  contract: AnyContract,
  { webSocket = globalWebSocket, maxMessageSize = MAX_MESSAGE_SIZE, token }: ConnectOptions,
  what: string,
  url: string,
): (headers: Readonly<Record<string, string>>, protocols: string[], request: Lifetime) => Promise<Port> {
  const shown = brief(url, MAX_QUOTED);
  return async (headers, protocols, { signal }) => {
    let opened: Awaited<ReturnType<OpenSocket>>;
    try {
      signal.throwIfAborted();
      opened = await webSocket(url.replace(/^http/, "ws"), { headers, protocols, maxSize: maxMessageSize, signal });
    } catch (cause) {
      signal.throwIfAborted();
      // A mistake in the caller's code, such as a missing WebSocket, or a program that did not start: a retry would not help.
      if (cause instanceof TypeError || cause instanceof Disconnected) throw cause;
      const { says } = await why({ cause, address: url });
      signal.throwIfAborted();
      throw disconnected(`${what}: no socket was opened at ${shown}${says}`, "unreachable", true, cause);
    }
    if ("refused" in opened) {
      const { status } = opened.refused;
      const refusal = await refusalOf(contract, { ...opened.refused, token });
      // A page or a redirect comes from another server, such as a proxy, and is not a refusal.
      if (status < 400)
        throw disconnected(`${what}: ${shown} answered ${status}, not a socket`, "unreachable", true, refusal);
      throw refusal;
    }
    return guarded(opened, signal);
  };
}

/** Wraps a user's port so that it never fails: an error, or a close that neither it nor the peer ends in time, counts as a cut. */
function guarded(port: Port, signal: AbortSignal): Port {
  let on: PortEvents | undefined;
  let over: Parameters<PortEvents["close"]> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function end(...how: Parameters<PortEvents["close"]>): void {
    if (over) return;
    over = how;
    clearTimeout(timer);
    on?.close(...how);
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
    if (!port.closing) timer ??= setTimeout(cut, CLOSE_WITHIN);
    safely(() => port.close(code, reason));
  }

  /** Calls the user's port. A failure cuts it. */
  function safely(call: () => unknown): void {
    notify(call, undefined, cut);
  }

  function buffered(): number {
    let waiting: unknown;
    safely(() => {
      waiting = port.buffered?.();
      return waiting;
    });
    return typeof waiting === "number" ? waiting : 0;
  }

  function unused(): void {
    // Only a port with a listener receives the peer's confirmation.
    listen({ frame() {}, close() {} });
    close(1000, "");
  }

  function listen(events: PortEvents): void {
    signal.removeEventListener("abort", unused);
    on = events;
    if (over) return events.close(...over);
    const frame = (text: string) => over || events.frame(text);
    safely(() => port.listen({ ...events, frame, close: end }));
  }

  if (signal.aborted) unused();
  else signal.addEventListener("abort", unused);
  return {
    listen,
    close,
    cut,
    send: (frame) => safely(() => port.send(frame)),
    closing: port.closing && (() => safely(() => port.closing!())),
    buffered,
  };
}

/** Opens the WebSocket of a browser, or of a Node version that has one. It cannot carry headers. */
export const globalWebSocket: OpenSocket = (url, { headers, protocols, signal }) =>
  new Promise((resolve, reject) => {
    if (typeof WebSocket === "undefined")
      throw misuse('this Node has no WebSocket: pass `webSocket` from "@parlance/client/node"');
    if (headers.Authorization !== undefined)
      throw misuse(
        "a browser's WebSocket carries no token: add the page to the server's `origins`, or pass another `webSocket`",
      );
    const socket = new WebSocket(url, [...protocols]);
    signal?.addEventListener("abort", () => socket.readyState || socket.close(), { once: true });
    socket.onopen = () => resolve(socketPort(socket));
    socket.onerror = () => reject(new Error("the WebSocket could not be opened"));
  });
