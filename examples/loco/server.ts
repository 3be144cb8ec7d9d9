import { enforce } from "@parlance/protocols/helpers/loco-enforce";
import { loco, type StreamServerMessage } from "@parlance/protocols/loco";
import { type App, bearer, serve } from "@parlance/server";
import { type Think, think } from "../demo/agent.js";
import type { Workspace as Folder } from "../demo/workspace.js";
import { memory } from "./memory.js";
import { type Stream, takeTurn } from "./turn.js";

/** The token that this example asks for; a real server makes one for each user. */
export const TOKEN = "demo-token";

const hello: StreamServerMessage = {
  type: "server.hello",
  server_info: { version: "0.1.0", capabilities: ["multi_file_edit"] },
};

/** Nothing is left to approve or to apply: clears what the client shows of an earlier turn. */
const nothingPending: StreamServerMessage = {
  type: "session.state",
  state: { pending_patches: [], applied_patches: [], pending_approvals: [] },
};

/** The agent, with one socket a session: it proposes patches, and the client applies the approved ones. */
export function serveLoco(folder: Folder, thinking: Think = think): App {
  const state = memory(folder.files);
  const policyOf = (session_id: unknown) => state.policy(state.session(String(session_id)).workspace_id);
  // Whatever the agent does, the policy of the session's workspace holds.
  const policed = enforce(({ input }) => policyOf(input.session_id), { root: folder.root });
  return serve(
    loco,
    {
      ...state.handlers,
      async stream({ session_id }, channel) {
        let turn: { readonly over: Promise<void>; readonly cancel: AbortController } | undefined;
        const stop = async (): Promise<void> => {
          turn?.cancel.abort();
          await turn?.over;
        };
        try {
          for await (const message of channel) {
            if (message.type === "client.hello") channel.send(hello);
            if (message.type === "client.file_changes")
              await state.change(state.session(session_id).workspace_id, message.changes);
            // One turn at a time. A cancel or a new message ends the current turn, and withdraws its requests.
            if (message.type !== "client.user_message" && message.type !== "client.cancel") continue;
            await stop();
            if (message.type === "client.cancel") channel.send(nothingPending);
            else turn = begin(channel, message.message, session_id);
          }
        } finally {
          await stop();
        }
      },
    },
    {
      authenticate: bearer({ [TOKEN]: "demo" }),
      hooks: {
        ...policed,
        request(call) {
          policed.request(call);
          // Refuses the handshake: SESSION_NOT_FOUND.
          if (call.operation === "stream") state.session(String(call.input.session_id));
        },
      },
    },
  );

  function begin(channel: Stream, prompt: string, session_id: string) {
    const cancel = new AbortController();
    const turn = { prompt, folder, channel, policy: policyOf(session_id), signal: cancel.signal };
    const over = takeTurn(turn, thinking).catch((error: Error & { code?: string }) => {
      if (cancel.signal.aborted || error.name === "Disconnected") return;
      const code = error.code === "POLICY_VIOLATION" ? error.code : "AGENT_ERROR";
      channel.send({ type: "server.error", error: { code, message: error.message, details: {}, recoverable: true } });
    });
    return { over, cancel };
  }
}
