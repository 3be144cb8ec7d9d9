import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The way to a Redis's socket. Whatever passes it, in either direction, arrives later. */
export interface Latency {
  readonly port: number;
  /** Milliseconds from now on. */
  set(milliseconds: number): void;
  close(): Promise<void>;
}

/** A TCP proxy on loopback to a Unix socket. It keeps the order of the bytes when its latency changes. */
export async function latency(path: string): Promise<Latency> {
  const sockets = new Set<Socket>();
  let delay = 0;

  function keep(socket: Socket): Socket {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    return socket;
  }

  function pass(from: Socket, to: Socket): void {
    let before = Promise.resolve();
    from.on("data", (chunk: Buffer) => {
      const due = performance.now() + delay;
      before = before.then(async () => {
        const left = due - performance.now();
        if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
        to.write(chunk);
      });
    });
    from.on("close", () => to.destroy());
  }

  const server = createServer((near) => {
    const far = keep(connect(path));
    pass(keep(near), far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    set(milliseconds) {
      delay = milliseconds;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
