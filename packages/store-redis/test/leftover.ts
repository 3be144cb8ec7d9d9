// Starts a Redis server and a cluster, stops one of their processes, and waits to be killed: `tsx leftover.ts`. It prints their folder names.
import { startRedis } from "./redis.js";
import { startCluster } from "./redis-cluster.js";

const server = await startRedis();
const cluster = await startCluster(0);
server.pause();
console.log(JSON.stringify([server.path, ...cluster.folders]));
// It does not outlive the test either.
process.stdin.on("end", () => process.exit()).resume();
