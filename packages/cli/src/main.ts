#!/usr/bin/env node
import { createInterface } from "node:readline/promises";
import { endsQuietly, UsageError } from "./io.js";
import { run } from "./run.js";

let interrupt: (() => void) | undefined;
for (const stream of [process.stdout, process.stderr])
  endsQuietly(stream, () => (interrupt ? interrupt() : process.exit()));

// Time limits alone do not keep a process alive: without this, one that waits for nothing else would end with code 13 before its limit.
const alive = setInterval(() => {}, 2 ** 30);
process.exitCode = await run(process.argv.slice(2), {
  cwd: process.cwd(),
  env: process.env,
  stdin: process.stdin,
  streams: { input: process.stdin, output: process.stdout },
  tty: process.stdout.isTTY,
  ...(process.stdin.isTTY && process.stdout.isTTY && { ask }),
  interrupt: () => {
    const controller = new AbortController();
    interrupt = () => controller.abort();
    // SIGHUP: the terminal was closed.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, interrupt);
    return controller.signal;
  },
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
}).finally(() => clearInterval(alive));

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new Promise<never>((_, reject) => lines.once("close", () => reject(new UsageError("not answered"))));
  try {
    // The promise of `question` never settles after Ctrl-C or Ctrl-D.
    return await Promise.race([lines.question(question), closed]);
  } finally {
    closed.catch(() => {});
    lines.close();
  }
}
