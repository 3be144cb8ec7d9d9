// An editor that drives any ACP agent: `npx tsx examples/acp-client/client.ts -- codex-acp`, or a URL in place of the command. Without one it takes a
// turn with the agent beside it, over stdio and over a WebSocket, and checks what was written.
import assert from "node:assert";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { program, webSocket } from "@parlance/client/node";
import { listen } from "@parlance/server/node";
import { serveAgent } from "../acp-agent/agent.js";
import { type Print, takeTurn } from "./editor.js";

const print: Print = (line) => console.log(line);
const [command, ...args] = process.argv.slice(2).filter((arg) => arg !== "--");
const { PROMPT = "rename greet to welcome in main.py" } = process.env;

if (command !== undefined) {
  const isUrl = /^https?:/.test(command);
  const agent = isUrl ? { baseUrl: command, webSocket } : program(command, args, { cwd: process.cwd() });
  print(await takeTurn(agent, process.cwd(), PROMPT, print));
} else {
  const main = fileURLToPath(new URL("../acp-agent/main.ts", import.meta.url));
  const server = await listen(serveAgent(), { port: 0 });
  const agents = {
    stdio: program(process.execPath, ["--import", "tsx", main, "--stdio"]),
    WebSocket: { baseUrl: server.url, webSocket },
  };
  for (const [carrier, agent] of Object.entries(agents)) {
    const cwd = await mkdtemp(join(tmpdir(), "acp-client-"));
    await writeFile(join(cwd, "main.py"), "def greet():\n    pass\n\ngreet()\n");
    print(`over ${carrier}:`);
    assert.equal(await takeTurn(agent, cwd, PROMPT, print), "end_turn");
    assert.equal(await readFile(join(cwd, "main.py"), "utf8"), "def welcome():\n    pass\n\nwelcome()\n");
    await rm(cwd, { recursive: true });
  }
  await server.close();
}
