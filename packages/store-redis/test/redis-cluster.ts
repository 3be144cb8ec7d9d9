import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cluster, type ClusterOptions, Redis } from "ioredis";
import type { Guarded } from "./guarded.js";
import { startServer } from "./redis.js";

const HOST = "127.0.0.1";
const SLOTS = 16384;

interface Node {
  readonly port: number;
  readonly busPort: number;
  readonly folder: string;
  readonly admin: Redis;
  readonly id: string;
  process: Guarded;
}

/** A Redis Cluster of our own on free ports of the loopback interface. It cannot outlive this process. */
export interface RedisClusterServer {
  readonly url: string;
  readonly folders: readonly string[];
  readonly ports: readonly number[];
  /** A connection to one node. */
  admin(port: number): Redis;
  /** Resolves once all nodes agree that all slots are served. */
  whole(): Promise<void>;
  client(options?: ClusterOptions): Cluster;
  /** The port of the master that has the slot of a key. */
  masterOf(key: string): Promise<number>;
  kill(port: number): Promise<void>;
  pause(port: number): void;
  resume(port: number): void;
  /** Starts a killed node again; it comes back as a replica when another node has its slots. */
  start(port: number): Promise<void>;
  /** Resolves once the surviving nodes agree that all slots are served, by other nodes than this one. */
  failedOver(port: number): Promise<void>;
  /** Makes a replica the master of a key's slot, while the old master lives on. */
  switchOver(key: string): Promise<void>;
  /** Moves the slot of a key to another master. */
  moveSlot(key: string): Promise<void>;
  remove(): Promise<void>;
}

/** Starts three masters, each with so many replicas. */
export async function startCluster(replicas: 0 | 1): Promise<RedisClusterServer> {
  const count = 3 * (1 + replicas);
  const nodes = await startNodes(count);
  const clients: Cluster[] = [];
  const alive = () => nodes.filter(({ admin }) => admin.status === "ready");

  await Promise.all(nodes.map(({ admin }, i) => admin.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1)));
  const masters = nodes.slice(0, 3);
  const edges = [0, 1, 2, 3].map((i) => Math.floor((i * SLOTS) / 3));
  await Promise.all(
    masters.map(({ admin }, i) => admin.call("CLUSTER", "ADDSLOTSRANGE", edges[i]!, edges[i + 1]! - 1)),
  );
  for (const { port, busPort } of nodes.slice(1)) await nodes[0]!.admin.call("CLUSTER", "MEET", HOST, port, busPort);
  await until(() => Promise.all(nodes.map(async (node) => (await known(node)).length === count)));
  await Promise.all(nodes.slice(3).map(({ admin }, i) => admin.call("CLUSTER", "REPLICATE", masters[i]!.id)));
  await until(() => Promise.all(nodes.map(isWhole)));
  if (replicas > 0) await until(() => Promise.all(nodes.slice(3).map(isLinked)));

  const at = (port: number) => nodes.find((node) => node.port === port)!;
  async function owner(key: string, asked = alive()[0]!): Promise<Node> {
    const slot = Number(await asked.admin.call("CLUSTER", "KEYSLOT", key));
    const ranges = (await asked.admin.call("CLUSTER", "SLOTS")) as [number, number, [string, number, string]][];
    const [, , [, port]] = ranges.find(([from, to]) => from <= slot && slot <= to)!;
    return at(port);
  }

  return {
    folders: nodes.map(({ folder }) => folder),
    ports: nodes.map(({ port }) => port),
    admin: (port) => at(port).admin,
    whole: () => until(() => Promise.all(nodes.map(isWhole))),
    url: `redis://${HOST}:${nodes[0]!.port}`,
    client(options) {
      const client = new Cluster(
        nodes.map(({ port }) => ({ host: HOST, port })),
        { slotsRefreshTimeout: 500, retryDelayOnFailover: 50, retryDelayOnClusterDown: 50, ...options },
      );
      client.on("error", () => {});
      clients.push(client);
      return client;
    },
    masterOf: async (key) => (await owner(key)).port,
    kill: (port) => at(port).process.kill(),
    pause: (port) => at(port).process.signal("SIGSTOP"),
    resume: (port) => at(port).process.signal("SIGCONT"),
    async start(port) {
      const node = at(port);
      node.process = await startNode(node.folder, port, node.busPort);
      await until(() => Promise.all(nodes.map(isWhole)));
    },
    async failedOver(port) {
      const others = nodes.filter((node) => node.port !== port);
      const moved = async (node: Node) => {
        const ranges = (await node.admin.call("CLUSTER", "SLOTS")) as [number, number, [string, number, string]][];
        return (await isWhole(node)) && ranges.every(([, , [, master]]) => master !== port);
      };
      await until(() => Promise.all(others.map(moved)));
    },
    async switchOver(key) {
      const master = await owner(key);
      const lines = await known(master);
      const replica = lines.find((line) => line.includes(` ${master.id} `) && line.includes("slave"))!;
      const next = nodes.find(({ id }) => replica.startsWith(id))!;
      await next.admin.call("CLUSTER", "FAILOVER");
      await until(() => Promise.all(alive().map(async (node) => (await owner(key, node)) === next)));
    },
    async moveSlot(key) {
      const from = await owner(key);
      const slot = Number(await from.admin.call("CLUSTER", "KEYSLOT", key));
      const lines = (await known(from)).filter((line) => line.includes("master") && !line.includes("fail"));
      const current = nodes.filter(({ id }) => lines.some((line) => line.startsWith(id)));
      const to = current.find((node) => node !== from)!;
      await to.admin.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from.id);
      await from.admin.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id);
      const keys = (await from.admin.call("CLUSTER", "GETKEYSINSLOT", slot, 1000)) as string[];
      if (keys.length > 0) await from.admin.call("MIGRATE", HOST, to.port, "", 0, 5000, "KEYS", ...keys);
      for (const { admin } of [to, from, ...current]) await admin.call("CLUSTER", "SETSLOT", slot, "NODE", to.id);
    },
    async remove() {
      for (const client of clients) client.disconnect();
      for (const { admin } of nodes) admin.disconnect();
      await Promise.all(nodes.map(({ process }) => process.kill()));
      await Promise.all(nodes.map(({ folder }) => rm(folder, { recursive: true, force: true })));
    },
  };
}

function startNodes(count: number): Promise<Node[]> {
  return Promise.all(Array.from({ length: count }, () => startFresh(5)));
}

/** Starts a node on free ports, on others where they were taken in the meantime. */
async function startFresh(attempts: number): Promise<Node> {
  const [port, busPort] = (await freePorts(2)) as [number, number];
  const folder = await mkdtemp(join(tmpdir(), "parlance-cluster-"));
  try {
    const process = await startNode(folder, port, busPort);
    const admin = new Redis(port, HOST, { retryStrategy: () => 50, maxRetriesPerRequest: null });
    admin.on("error", () => {});
    const id = String(await admin.cluster("MYID"));
    return { port, busPort, folder, admin, id, process };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    if (attempts > 1) return startFresh(attempts - 1);
    throw error;
  }
}

function startNode(folder: string, port: number, busPort: number): Promise<Guarded> {
  const cluster = ["--cluster-enabled", "yes", "--cluster-port", `${busPort}`, "--cluster-node-timeout", "500"];
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  // A replica that has just lost its master must not wait to be eligible.
  const eager = ["--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"];
  return startServer(folder, ["--bind", HOST, "--port", `${port}`, ...cluster, ...durable, ...eager]);
}

/** Ports that are free at this moment. */
async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = Array.from({ length: count }, () => createServer().listen(0, HOST));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function known({ admin }: Node): Promise<string[]> {
  return String(await admin.cluster("NODES"))
    .trim()
    .split("\n");
}

async function isWhole({ admin }: Node): Promise<boolean> {
  return String(await admin.cluster("INFO")).includes("cluster_state:ok");
}

async function isLinked({ admin }: Node): Promise<boolean> {
  const info = await admin.info("replication");
  return info.includes("role:slave") && info.includes("master_link_status:up");
}

/** Asks until all answers are true. */
async function until(ask: () => Promise<readonly boolean[]>): Promise<void> {
  while (!(await ask().catch(() => [false])).every(Boolean)) await new Promise((resolve) => setTimeout(resolve, 20));
}
