/** One end of a socket that carries text frames in order: what a WebSocket is to a link. */
export interface Port {
  send(frame: string): void;
  close(code: number, reason: string): void;
  /** Called once, before anything is received. */
  listen(on: PortEvents): void;
}

export interface PortEvents {
  frame(text: string): void;
  /** The socket is closed; nothing follows. 1006 means that it was cut (RFC 6455, section 7.1.5). */
  close(code: number, reason: string): void;
}

/** Two ports that are each other's peer, in memory. Frames arrive later, in order, and before the close that follows them. */
export function pair(): [Port, Port] {
  const a = end();
  const b = end();
  return [a.port(b), b.port(a)];
}

interface End {
  port(peer: End): Port;
  deliver(event: (on: PortEvents) => void, last?: boolean): void;
}

function end(): End {
  let on: PortEvents | undefined;
  let closed = false;
  const waiting: ((on: PortEvents) => void)[] = [];

  function deliver(event: (on: PortEvents) => void, last = false): void {
    if (closed) return;
    if (last) closed = true;
    if (on === undefined) waiting.push(event);
    else {
      const events = on;
      queueMicrotask(() => event(events));
    }
  }

  return {
    deliver,
    port: (peer) => ({
      send(frame) {
        if (!closed) peer.deliver((events) => events.frame(frame));
      },
      close(code, reason) {
        peer.deliver((events) => events.close(code, reason), true);
        deliver((events) => events.close(code, reason), true);
      },
      listen(events) {
        on = events;
        for (const event of waiting.splice(0)) queueMicrotask(() => event(events));
      },
    }),
  };
}
