import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { ask } from "./editor.js";
import { myAgent } from "./protocols/my-agent.js";

const [text, path] = process.argv.slice(2);
if (!text) {
  console.error("usage: client PROMPT [FILE]");
  process.exit(2);
}
const agent = connect(myAgent, { baseUrl: process.env.AGENT_URL ?? "http://localhost:8080", webSocket });
const terminal = createInterface(process.stdin, process.stdout);
const stop = new AbortController();
terminal.on("SIGINT", () => stop.abort());
const user = {
  show: (text: string) => void process.stdout.write(text),
  allows: (question: string, signal: AbortSignal) =>
    terminal.question(`\n${question} (y/n) `, { signal }).then(
      (answer) => answer.trim() === "y",
      () => false,
    ),
};
const file = path === undefined ? undefined : { path, text: await readFile(path, "utf8") };
const done = await ask(agent, { text, ...(file && { file }) }, process.cwd(), user, stop.signal);
console.log(done.cancelled ? "\nstopped" : "\ndone");
terminal.close();
