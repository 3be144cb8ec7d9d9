import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

const absent = !existsSync("/bin/ps") && !existsSync("/usr/bin/ps");
if (absent) console.warn("SKIPPED: a demo whose shell is ended, for want of ps");

test.skipIf(absent)("a demo ends with the shell that has started it, which passes no signal on", async () => {
  const main = `
    import { isAlive, starters } from "./starters.ts";
    const started = starters();
    setInterval(() => started.every(isAlive) || process.exit(console.log("over")), 5);
    console.log("up");`;
  const stdin = { contents: main, resolveDir: fileURLToPath(new URL("demo", import.meta.url)) };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: "esm", platform: "node" });
  // A second command, so that the shell does not become the first.
  const line = 'node --input-type=module -e "$PROGRAM"; true';
  const env = { ...process.env, PROGRAM: outputFiles[0]!.text };
  const shell = spawn("sh", ["-c", line], { env, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const text of shell.stdout.setEncoding("utf8")) {
    said += text;
    if (said === "up\n") shell.kill("SIGTERM");
  }
  expect(said).toBe("up\nover\n");
});
