import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { endsQuietly } from "../src/io.js";
import { folder, parlance } from "./terminal.js";

test("the output of a command that is read no more ends it as Ctrl-C does, and any other failure of it is thrown", () => {
  const output = new EventEmitter();
  let ends = 0;
  endsQuietly(output, () => ends++);
  output.emit("error", Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  expect(ends).toBe(1);
  expect(() => output.emit("error", new Error("EIO"))).toThrow("EIO");
});

/** The command as a process in a folder; what it prints to stderr and its exit code. */
function started(cwd: string, words: string) {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const env = { ...process.env, TSX_TSCONFIG_PATH: fileURLToPath(new URL("../../../tsconfig.json", import.meta.url)) };
  const all = ["--import", import.meta.resolve("tsx"), main, ...words.split(" ")];
  const child = spawn(process.execPath, all, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let err = "";
  child.stderr.on("data", (data) => {
    err += data;
  });
  return { child, ended: once(child, "close").then(([code]) => ({ code, err })) };
}

test("a command behind `| head` ends without an error, and one that serves ends as by Ctrl-C", async () => {
  const cwd = await folder();
  await parlance(cwd, "init --example sse");
  const list = started(cwd, "conform schemas/my-agent --list --level may");
  list.child.stdout.destroy();
  const mock = started(cwd, "mock schemas --json --cut 99");
  const [line] = (await once(mock.child.stdout, "data")) as [Buffer];
  mock.child.stdout.destroy();
  await fetch(JSON.parse(line.toString()).url).catch(() => {});
  expect(await list.ended).toEqual({ code: 0, err: "" });
  const nothing = "parlance mock: --cut 99 did nothing: no stream or channel came to that message\n";
  expect(await mock.ended).toEqual({ code: 0, err: nothing });
}, 60_000);
