// An agent that speaks `based` on its standard input and output, with one fault: `node agent.mjs FAULT FRAME`. The fault comes in place of the
// frame with this number: 0 opens the channel, 1 lists files, 2 answers a prompt.
import { spawn } from "node:child_process";
import { closeSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , fault, frame = "0"] = process.argv;
let sent = 0;

const FRAMES = {
  open: { status: "success", action: "initial_state", files: [], activeFile: null },
  list_files: { status: "success", action: "file_list", files: ["a.based"] },
  prompt: { status: "success", action: "file_created", filename: "a.based", content: "state a {}", files: ["a.based"] },
};

const lives = () => setInterval(() => {}, 60_000);
const write = (text) => new Promise((done) => process.stdout.write(text, done));

/** Faults by name. One that returns true goes on with the turn. */
const FAULTS = {
  "exits 0": () => process.exit(0),
  "exits 3": () => process.exit(3),
  "exits 3 with a reason": () => {
    writeSync(2, "starting\nError: no model is configured\n    at run (agent.mjs:1:1)\n");
    process.exit(3);
  },
  "exits 3 after 10 MB of stderr": async () => {
    for (let i = 0; i < 160; i++) await new Promise((done) => process.stderr.write(`${"x".repeat(65_535)}\n`, done));
    await new Promise((done) => process.stderr.write("the last line\n", done));
    process.exit(3);
  },
  "is killed": () => process.kill(process.pid, "SIGKILL"),
  "dies in the middle of a line": async () => {
    await write('{"status":"succ');
    process.exit(3);
  },
  "ends after a line without an end": async () => {
    await write(JSON.stringify(FRAMES.open));
    process.exit(0);
  },
  hangs: () => void lives(),
  "ends its output, and goes on": () => {
    closeSync(1);
    lives();
  },
  "ends its input, and goes on": () => {
    process.stdin.destroy();
    closeSync(0);
    lives();
  },
  "ignores the end of its input, and SIGTERM": () => {
    process.on("SIGTERM", () => {});
    console.error("deaf");
    lives();
  },
  "leaves a process that holds its output": () => {
    spawn(process.execPath, ["-e", "setInterval(() => {}, 60_000)"], { stdio: "inherit" });
    process.exit(3);
  },
  "leaves a process outside of its group": () => {
    // It ends by itself as soon as nobody reads its output.
    const held = "setInterval(() => process.stdout.write('\\n', (error) => error && process.exit()), 1)";
    spawn(process.execPath, ["-e", held], { stdio: ["ignore", "inherit", "ignore"], detached: true }).unref();
    process.exit(3);
  },
  floods: () => {
    const line = `${JSON.stringify({ ...FRAMES.open, files: ["x".repeat(60_000)] })}\n`;
    const pour = () => {
      while (process.stdout.write(line));
    };
    process.stdout.on("drain", pour);
    pour();
  },
  "writes what is not JSON": () => write("Debugger attached.\n").then(() => true),
  "writes blank lines, and CRLF": () => write("\n\r\n").then(() => true),
  "writes invalid UTF-8": () => write(Buffer.from([0x22, 0xff, 0x22, 0x0a])).then(() => true),
  "writes a line of 100 MB": async () => {
    const piece = Buffer.alloc(1 << 20, "x");
    for (let i = 0; i < 100; i++) await write(piece);
    return write("\n").then(() => true);
  },
  none: () => true,
};

async function answer(action) {
  const at = String(sent++) === frame ? FAULTS[fault] : FAULTS.none;
  if (await at()) await write(`${JSON.stringify(FRAMES[action])}${fault.includes("CRLF") ? "\r" : ""}\n`);
}

await answer("open");
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => answer(JSON.parse(line).action));
