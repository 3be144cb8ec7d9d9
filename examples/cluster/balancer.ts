import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The balancer in front of the servers: forwards each new connection to the server chosen by `use`. */
export interface Balancer {
  readonly url: string;
  /** Sets the server of new connections. */
  use(url: string): void;
  /** Cuts every connection, as proxies do. */
  cut(): void;
  close(): void;
}

export async function balance(): Promise<Balancer> {
  let target = new URL("http://localhost");
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use: (url) => {
      target = new URL(url);
    },
    cut,
    close() {
      server.close();
      cut();
    },
  };
}
