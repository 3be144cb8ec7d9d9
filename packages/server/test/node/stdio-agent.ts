// An agent that serves `based` on its standard input and output: `stdio-agent.ts MODE`. As `editor` it starts itself and talks with it instead.
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { program } from "@parlance/client/node";
import { based as documented } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { stdio } from "@parlance/server/node";

const channels = { session: { ...documented.channels.session!, carriers: ["stdio"] as const } };
const based = { ...documented, channels };
const [, file = fileURLToPath(import.meta.url), mode] = process.argv;
const say = (text: string) => void process.stderr.write(`${text}\n`);
const state = (...files: string[]) => ({ type: "initial_state", files, activeFile: null }) as const;

/** Limits that a test can wait for. */
const limits = mode === "flood" ? { stall: 200, maxQueued: 64 * 1024 } : {};

const app = serve(
  based,
  {
    async session(_, channel, { principal, signal }) {
      await channel.send(state());
      console.log("a line of console.log");
      process.stdout.write("a line of process.stdout\n");
      if (mode === "stuck") return new Promise(() => {});
      signal.addEventListener("abort", () => say("aborted"));
      while (mode === "flood") await channel.send(state("x".repeat(50_000)));
      for await (const message of channel) {
        say(`got ${message.type}`);
        if (message.type === "upload_file")
          await channel.send({ type: "file_uploaded", filename: message.filename, files: [message.filename] });
        else await channel.send({ type: "file_list", files: [String(principal)] });
      }
      await new Promise((resolve) => setImmediate(resolve));
      say("cleaned up");
    },
  },
  mode === "logs" ? {} : { ...limits, onError: (error) => say(String(error)) },
);

if (mode === "editor") {
  const channel = await connect(based, program(process.execPath, ["--import", "tsx", file, "turn"])).session();
  for await (const { type } of channel) say(type);
} else {
  await stdio(app, { principal: "the editor", closeAfter: mode === "stuck" ? 100 : 20_000 });
  console.log("the conversation is over");
  process.exit();
}
