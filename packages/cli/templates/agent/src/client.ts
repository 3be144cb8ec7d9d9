import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { ask } from "./editor.js";
import { myAgent as contract } from "./protocols/my-agent.js";

const [text, path] = process.argv.slice(2);
if (!text) {
  console.error("usage: client PROMPT [FILE]");
  process.exit(2);
}
const agent = connect(contract, { baseUrl: process.env.AGENT_URL ?? "http://localhost:8080", webSocket });
const stop = new AbortController();
process.on("SIGINT", () => stop.abort());

/** Asks on the terminal. Nothing was agreed to when the turn is stopped meanwhile, or the input ends. */
async function allows(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface(process.stdin, process.stdout);
  terminal.on("SIGINT", () => stop.abort());
  const ended = once(terminal, "close").then(() => "");
  try {
    const answer = await Promise.race([terminal.question(`\n${question} (y/n) `, { signal }), ended]);
    return answer.trim() === "y";
  } catch {
    return false;
  } finally {
    terminal.close();
  }
}

const user = { show: (text: string) => void process.stdout.write(text), allows };
const file = path === undefined ? undefined : { path, text: await readFile(path, "utf8") };
try {
  const done = await ask(agent, { text, ...(file && { file }) }, process.cwd(), user, stop.signal);
  console.log(done.cancelled ? "\nstopped" : "\ndone");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
