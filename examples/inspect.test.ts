import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

test("the demo's conversation is on the inspector's page until the demo is ended", async () => {
  const words = ["--import", "tsx", "examples/demo/main.ts", "--inspect", "fold-gateway"];
  const env = { ...process.env, TSX_TSCONFIG_PATH: "tsconfig.json" };
  const child = spawn(process.execPath, words, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  while (!/Ctrl-C/.test(text)) await once(child.stdout, "data");
  const [, origin, token] = /Open (http:\S+)\/#token=(\S+)/.exec(text)!;
  const headers = { Authorization: `Bearer ${token}` };
  const saved = await (await fetch(`${origin}/api/export?log=live&as=md`, { headers })).text();
  expect(saved).toContain("POST /api/send");
  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([0, null]);
}, 60_000);
