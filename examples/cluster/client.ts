import { deepEqual, equal } from "node:assert/strict";
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type Balancer, balance } from "./balancer.js";

/** One of the two server processes. */
interface Server {
  readonly process: ChildProcess;
  readonly url: string;
}

async function startServer(name: string, socket: string): Promise<Server> {
  const child = fork(fileURLToPath(new URL("./server.ts", import.meta.url)), [name, socket]);
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  return { process: child, url };
}

/** A stream begins on A; the connection is cut, and the rest is read from B. */
async function resumeElsewhere(balancer: Balancer, a: Server, b: Server): Promise<void> {
  balancer.use(a.url);
  const gateway = connect(foldGateway, { baseUrl: balancer.url });
  const words: string[] = [];
  for await (const message of gateway.send({ content: "300" })) {
    if (message.type === "text") words.push(message.text);
    if (words.length === 100) {
      balancer.use(b.url);
      balancer.cut();
    }
  }
  const wanted = Array.from({ length: 300 }, (_, i) => `A${i + 1}`);
  deepEqual(words, wanted);
  equal(await gateway.ready(), "ready (B)");
  console.log("300 messages of A, cut after 100, and read to the end through B: each once and in order");
}

/** An agent on A asks; the approval lands on B. */
async function approveElsewhere(balancer: Balancer, a: Server, b: Server): Promise<void> {
  const session_id = "s1";
  balancer.cut();
  balancer.use(a.url);
  const agent = connect(emacsAgent, { baseUrl: balancer.url });
  const events = agent.events({ session_id });
  await events.opened;
  await agent.prompt({ session_id, text: "Write a.ts" });
  for await (const message of events) {
    if (message.type === "tool.call") {
      balancer.use(b.url);
      const decided = once(b.process, "message");
      // A client of its own has a connection of its own, which goes to B.
      const editor = connect(emacsAgent, { baseUrl: b.url });
      const { tool_call_id } = message;
      await editor.approve({ session_id, tool_call_id });
      deepEqual((await decided)[0], { decided: "B" });
      const late = await editor.reject({ session_id, tool_call_id }).catch((refusal) => refusal);
      equal(late.status, 409);
    }
    if (message.type === "message.delta") {
      equal(message.content, "A heard: approve");
      await agent.endSession({ session_id });
    }
  }
  console.log("the approval came in on B, the agent on A heard it, and a later rejection was refused with 409");
}

async function main(): Promise<void> {
  if (spawnSync("redis-server", ["--version"]).status !== 0)
    return console.warn("SKIPPED: there is no redis-server on this machine, so the cluster was not tried");
  const folder = await mkdtemp(join(tmpdir(), "parlance-cluster-"));
  const socket = join(folder, "socket");
  // The servers' Redis clients wait until Redis is up.
  const redis = spawn("redis-server", ["--port", "0", "--unixsocket", socket, "--dir", folder, "--save", ""]);
  const servers: Server[] = [];
  const balancer = await balance();
  try {
    for (const name of ["A", "B"]) servers.push(await startServer(name, socket));
    const [a, b] = servers as [Server, Server];
    await resumeElsewhere(balancer, a, b);
    await approveElsewhere(balancer, a, b);
  } finally {
    balancer.close();
    for (const server of servers) server.process.disconnect();
    redis.kill();
    await once(redis, "exit");
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
