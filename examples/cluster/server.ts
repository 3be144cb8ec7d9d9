// One of several servers behind a balancer: `server.ts <name> <Redis socket>`. It sends its parent its address and each decision made on it.
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { redisCluster } from "@parlance/store-redis";
import { Redis } from "ioredis";

const [name, path] = process.argv.slice(2) as [string, string];
const redis = new Redis(path);
const cluster = redisCluster({ redis });

/** Sends its name with every number, so that the reader sees which server sent it. */
const gateway = serve(
  foldGateway,
  {
    health: () => "OK",
    ready: () => `ready (${name})`,
    listAgents: () => [{ id: "1", name, capabilities: ["chat"] }],
    async *send({ content }) {
      const words: string[] = [];
      for (let i = 1; i <= Number(content); i++) {
        words.push(`${name}${i}`);
        yield { type: "text", text: `${name}${i}` };
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      yield { type: "done", full_response: words.join(" ") };
    },
  },
  { cluster },
);

const notOffered = () => {
  throw new Refusal("not a part of this example", { status: 501 });
};

/** Asks before it writes. Session state is on this server only; the request reaches all servers. */
const agent = serve(
  emacsAgent,
  {
    createSession: notOffered,
    getSession: notOffered,
    interrupt: notOffered,
    getTranscript: notOffered,
    getTranscriptMarkdown: notOffered,
    getTranscriptOrg: notOffered,
    listTranscripts: notOffered,
    resume: notOffered,
    endSession: ({ session_id }) => ({ status: "closed", transcript_path: `${session_id}.org` }),
    prompt({ session_id }, call) {
      const session = call.session(session_id);
      const tool_call = {
        tool_call_id: "write-1",
        tool: "edit_file",
        params: { path: "a.ts" },
        requires_approval: true,
      };
      session.ask({ type: "tool.call", ...tool_call }).then(
        (decision) =>
          session.send({ type: "message.delta", content: `${name} heard: ${decision.type}`, role: "assistant" }),
        // The session ended before a decision.
        () => {},
      );
      return { status: "accepted", agent_state: "thinking" };
    },
    approve: ({ tool_call_id }, call) => {
      if (!call.ask) throw new Refusal(`no tool call ${tool_call_id} waits`, { code: "INVALID_TOOL_CALL" });
      process.send!({ decided: name });
      return { status: "approved", tool_call_id };
    },
    reject: ({ tool_call_id }) => ({ status: "rejected", tool_call_id }),
    async *events() {
      yield { type: "agent.state", state: "idle" };
    },
  },
  { cluster },
);

const server = await listen([gateway, agent], { port: 0 });
process.send!({ url: server.url });
process.on("disconnect", () => process.exit());
