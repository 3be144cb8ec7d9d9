// Starts an agent that ignores everything but SIGKILL, and exits without closing its channel.
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { program } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";

const agent = fileURLToPath(new URL("./agent.mjs", import.meta.url));
const args = [agent, "ignores the end of its input, and SIGTERM", "0"];
const onStderr = (text: string) => {
  console.log(text.trim());
  process.exit(7);
};
await connect(based, program(process.execPath, args, { onStderr })).session();
