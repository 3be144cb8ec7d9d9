import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis, type RedisOptions } from "ioredis";

/** Whether this machine has a Redis server. */
export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;
if (!hasRedis) console.warn("SKIPPED: there is no redis-server on this machine, so nothing was tried on Redis");

/** A Redis server of our own, in a folder of its own, on a Unix socket. */
export interface RedisServer {
  readonly path: string;
  client(options?: RedisOptions): Redis;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Kills it and removes everything. */
  remove(): Promise<void>;
}

export async function startRedis(): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), "parlance-redis-"));
  const path = join(folder, "socket");
  const clients: Redis[] = [];
  let server: ChildProcess;

  async function start(): Promise<void> {
    // Every write is on the disk before it is answered: what was appended survives a kill.
    const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
    server = spawn("redis-server", ["--port", "0", "--unixsocket", path, "--dir", folder, ...durable], {
      stdio: "pipe",
    });
    let said = "";
    await new Promise<void>((resolve, reject) => {
      server.on("exit", () => reject(new Error(`redis-server did not start: ${said}`)));
      server.stdout!.on("data", (chunk) => {
        said += chunk;
        if (said.includes("ready to accept connections at")) resolve();
      });
    });
  }
  async function kill(): Promise<void> {
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  }
  await start();
  return {
    path,
    kill,
    start,
    client(options) {
      const client = new Redis(path, { retryStrategy: () => 20, ...options });
      client.on("error", () => {});
      clients.push(client);
      return client;
    },
    async remove() {
      for (const client of clients) client.disconnect();
      if (server.exitCode === null && server.signalCode === null) await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
