import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";

/** Handlers that a caller has left. */
export const left = { count: 0 };

export const makeApps = (options = {}) => [
  serve(
    foldGateway,
    {
      health: () => "OK",
      ready: () => "OK",
      listAgents: () => [{ id: "1", name: "echo", capabilities: ["chat"] }],
      async *send({ content }, { signal }) {
        yield { type: "text", text: content };
        if (content === "wait") {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          left.count++;
          return;
        }
        if (content === "slow") await new Promise((resolve) => setTimeout(resolve, 200));
        yield { type: "done", full_response: content };
      },
    },
    options,
  ),
  serve(
    based,
    {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: "a.based" });
        for await (const message of channel)
          if (message.type === "list_files") channel.send({ type: "file_list", files: ["a.based"] });
      },
    },
    options,
  ),
];
