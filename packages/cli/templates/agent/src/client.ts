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
const stop = new AbortController();
process.on("SIGINT", () => stop.abort());

/** Asks on the terminal. A turn that is stopped meanwhile was not agreed to. */
async function allows(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface(process.stdin, process.stdout);
  terminal.on("SIGINT", () => stop.abort());
  try {
    return (await terminal.question(`\n${question} (y/n) `, { signal })).trim() === "y";
  } catch {
    return false;
  } finally {
    terminal.close();
  }
}

const user = { show: (text: string) => void process.stdout.write(text), allows };
const file = path === undefined ? undefined : { path, text: await readFile(path, "utf8") };
const done = await ask(agent, { text, ...(file && { file }) }, process.cwd(), user, stop.signal);
console.log(done.cancelled ? "\nstopped" : "\ndone");
