import type { Port, PortEvents } from "@parlance/wire";

/** A socket of a runtime, whichever methods it has for these. */
export interface RuntimeSocket {
  send(frame: string): void;
  /** May throw for a code that it does not send. */
  close(code: number, reason: string): void;
  /** Bytes that wait to be sent. */
  buffered(): number;
}

/** A port, and what its runtime calls when something arrives. Queues events until `listen`. */
export interface RuntimePort {
  readonly port: Port;
  receive(data: unknown): void;
  end(code: number, reason: string): void;
}

export function portOf(socket: RuntimeSocket, maxMessageSize: number): RuntimePort {
  let on: PortEvents | undefined;
  let over: { readonly code: number; readonly reason: string } | undefined;
  const early: string[] = [];

  function end(code: number, reason: string): void {
    if (over) return;
    over = { code, reason };
    on?.close(code, reason);
  }

  function close(code: number, reason: string): void {
    try {
      socket.close(code, reason);
    } catch {
      // Runtimes that follow the browsers' interface send 1000 and 3000 to 4999 only.
      socket.close(4000 + (code % 1000), reason);
    }
  }

  /** A peer that sends such frames may not confirm the close either. */
  function refuse(code: number, reason: string): void {
    close(code, reason);
    end(code, reason);
  }

  function receive(data: unknown): void {
    if (over) return;
    if (typeof data !== "string") return refuse(1003, "text frames only");
    // Never more bytes than three a character, and never fewer than one.
    const fits = data.length * 3 <= maxMessageSize || new TextEncoder().encode(data).length <= maxMessageSize;
    if (!fits) return refuse(1009, `a message has at most ${maxMessageSize} bytes`);
    if (on) on.frame(data);
    else early.push(data);
  }

  return {
    receive,
    end,
    port: {
      send: (frame) => socket.send(frame),
      close,
      cut() {
        close(1011, "");
        end(1006, "");
      },
      buffered: () => socket.buffered(),
      listen(events) {
        on = events;
        for (const frame of early.splice(0)) on.frame(frame);
        if (over) on.close(over.code, over.reason);
      },
    },
  };
}

/** The WebSocket of the HTML standard, as Deno and Cloudflare workers have it. */
export interface StandardSocket {
  readonly bufferedAmount?: number;
  send(frame: string): void;
  close(code: number, reason: string): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  addEventListener(type: "error" | "open", listener: () => void): void;
}

/** A standard socket as a port. */
export function standardPort(socket: StandardSocket, maxMessageSize: number): Port {
  const { port, receive, end } = portOf(
    {
      send: (frame) => socket.send(frame),
      close: (code, reason) => socket.close(code, reason),
      buffered: () => socket.bufferedAmount ?? 0,
    },
    maxMessageSize,
  );
  socket.addEventListener("message", ({ data }) => receive(data));
  socket.addEventListener("close", ({ code, reason }) => end(code, reason));
  socket.addEventListener("error", () => end(1006, "the socket failed"));
  return port;
}
