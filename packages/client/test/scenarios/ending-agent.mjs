// An agent that asks its editor once, and then does what its argument names: `node ending-agent.mjs "reads nothing"`.
import { spawn } from "node:child_process";
import { closeSync, writeSync } from "node:fs";

const lives = () => setInterval(() => {}, 60_000);
const holder = ["-e", "setInterval(() => {}, 60_000)"];

const ACTS = {
  "reads nothing": lives,
  "reads slowly": () => {
    process.stdin.on("readable", () => {});
    setInterval(() => process.stdin.read(16), 20);
  },
  "ignores SIGTERM": () => {
    process.on("SIGTERM", () => {});
    process.stdin.resume();
    lives();
  },
  "has closed its standard input": () => {
    closeSync(0);
    lives();
  },
  "has closed its standard output": () => {
    closeSync(1);
    process.stdin.resume();
    lives();
  },
  "exits immediately": () => process.exit(0),
  "has a child that holds the pipes": () => {
    spawn(process.execPath, holder, { stdio: "inherit" });
    process.stdin.resume().on("end", () => process.exit(0));
  },
};

const toolCall = { toolCallId: "c1", title: "rm -r logs" };
const params = { sessionId: "s1", toolCall, options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }] };
writeSync(1, `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "session/request_permission", params })}\n`);
ACTS[process.argv[2]]();
