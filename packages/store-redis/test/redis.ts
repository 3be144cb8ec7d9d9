import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis, type RedisOptions } from "ioredis";
import { type Guarded, guard } from "./guarded.js";

/** Whether this machine has a Redis server. */
export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;
if (!hasRedis) console.warn("SKIPPED: there is no redis-server on this machine, so nothing was tried on Redis");

/** A Redis server of our own, in a folder of its own, on a Unix socket. It cannot outlive this process. */
export interface RedisServer {
  readonly path: string;
  client(options?: RedisOptions): Redis;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops the process: connections stay open and are accepted, and nothing is answered. */
  pause(): void;
  resume(): void;
  /** Kills it and removes everything. */
  remove(): Promise<void>;
}

export async function startRedis(): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), "parlance-redis-"));
  const path = join(folder, "socket");
  const clients: Redis[] = [];
  let server: Guarded;

  async function start(): Promise<void> {
    // Every write is in the file before it is answered, so it survives a kill. It need not be on the disk: a busy one would be a fault of its own.
    const durable = ["--appendonly", "yes", "--appendfsync", "no", "--save", ""];
    server = await startServer(folder, ["--port", "0", "--unixsocket", path, ...durable]);
  }
  function client(options?: RedisOptions): Redis {
    const client = new Redis(path, { retryStrategy: () => 20, ...options });
    client.on("error", () => {});
    clients.push(client);
    return client;
  }
  await start();
  return {
    path,
    start,
    client,
    kill: () => server.kill(),
    pause: () => server.signal("SIGSTOP"),
    resume: () => server.signal("SIGCONT"),
    async remove() {
      for (const client of clients) client.disconnect();
      await server.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts `redis-server` and resolves once it accepts connections. */
export async function startServer(folder: string, args: readonly string[]): Promise<Guarded> {
  const server = await guard(folder, "redis-server", ["--dir", folder, ...args]);
  let log = "";
  for (let line = await server.lines.next(); !line.done; line = await server.lines.next()) {
    log += `${line.value}\n`;
    if (!/eady to accept connections/.test(line.value)) continue;
    void drain(server.lines);
    return server;
  }
  throw new Error(`redis-server did not start: ${log}`);
}

/** A pipe that is not read would stop the server when it is full. */
async function drain(lines: AsyncIterator<string>): Promise<void> {
  for (let line = await lines.next(); !line.done; line = await lines.next());
}
