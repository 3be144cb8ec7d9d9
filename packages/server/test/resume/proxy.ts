import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What happens to one connection when its `at`-th byte has passed. */
export interface Fault {
  /**
   * `cut`: both ends closed; `reset`: the same by RST; `half-close`: the receiver hears the end, the sender nothing for a while;
   * `stall`: nothing passes any more, until the cut that follows after `milliseconds`; `delay`: nothing passes for so long, and then
   * everything; `duplicate`: what the client sent so far is sent again on a connection of its own.
   */
  readonly kind: "cut" | "reset" | "half-close" | "stall" | "delay" | "duplicate";
  readonly at: number;
  /** Which bytes are counted: those of the client, or those of the server. */
  readonly of: "client" | "server";
  readonly milliseconds: number;
}

export interface Proxy {
  readonly url: string;
  /** Connections so far. */
  readonly connections: number;
  close(): Promise<void>;
}

/**
 * A TCP proxy on loopback to a port, which is asked for at each connection: the fault of each connection is asked for by its number,
 * from 0. `hear` gets what the server sends.
 */
export async function proxy(
  target: () => number,
  faultOf: (connection: number) => Fault | undefined,
  hear?: (connection: number, chunk: Buffer) => void,
): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: target(), host: "127.0.0.1", allowHalfOpen: true });
    const connection = connections++;
    if (hear) far.on("data", (chunk) => hear(connection, chunk));
    join(keep(near), keep(far), faultOf(connection), () => keep(connect({ port: target(), host: "127.0.0.1" })));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function join(client: Socket, server: Socket, fault: Fault | undefined, another: () => Socket): void {
  const said: Buffer[] = [];
  let happened = fault === undefined;

  function both(act: (socket: Socket) => void): void {
    act(client);
    act(server);
  }

  function happen({ kind, of, milliseconds }: Fault): void {
    happened = true;
    const receiver = of === "client" ? server : client;
    if (kind === "cut") both((socket) => socket.destroySoon());
    else if (kind === "reset") both((socket) => socket.resetAndDestroy());
    else if (kind === "half-close") {
      receiver.end();
      setTimeout(() => both((socket) => socket.destroy()), milliseconds);
    } else if (kind === "stall" || kind === "delay") {
      both((socket) => socket.pause());
      setTimeout(() => both((socket) => (kind === "stall" ? socket.destroy() : socket.resume())), milliseconds);
    } else {
      const twin = another();
      twin.write(Buffer.concat(said));
      twin.resume();
      setTimeout(() => twin.destroy(), milliseconds);
    }
  }

  function pass(from: Socket, to: Socket, of: Fault["of"]): void {
    let count = 0;
    from.on("data", (chunk: Buffer) => {
      if (of === "client" && fault?.kind === "duplicate") said.push(chunk);
      const room = fault && !happened && fault.of === of && count + chunk.length >= fault.at;
      const whole = !room || fault.kind === "delay" || fault.kind === "duplicate";
      if (!to.writableEnded && !to.destroyed) to.write(whole ? chunk : chunk.subarray(0, fault.at - count));
      count += chunk.length;
      if (room) happen(fault);
    });
    from.on("end", () => to.end());
    from.on("close", () => !to.destroyed && to.destroySoon());
  }
  pass(client, server, "client");
  pass(server, client, "server");
}
