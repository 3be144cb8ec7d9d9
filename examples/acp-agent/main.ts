// An agent for every editor: `npx tsx examples/acp-agent/main.ts --stdio` is what Zed starts; without it, pages connect to a WebSocket.
import { listen, stdio } from "@parlance/server/node";
import { serveAgent } from "./agent.js";

const app = serveAgent();
if (process.argv.includes("--stdio")) {
  await stdio(app);
  process.exit();
}
const { url } = await listen(app, { port: 3000 });
console.log(`${url}/acp`);
