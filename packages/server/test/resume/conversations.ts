import { type ConnectOptions, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LocoHandlers, loco } from "@parlance/protocols/loco";
import { type ServeOptions, serve } from "@parlance/server";
import { type Listening, type ListenOptions, listen } from "@parlance/server/node";
import type { Outcome } from "./oracle.js";

/** One way to hold a conversation: who says what, and what the client heard. */
export interface Conversation {
  readonly name: string;
  /** Asks the server at `baseUrl` for `count` messages that carry the tag. */
  hold(baseUrl: string, tag: string, count: number, options?: ConnectOptions): Promise<Outcome>;
}

/** A server of the four protocols that stream, and what it has seen. */
export interface Scene {
  readonly server: Listening;
  readonly conversations: Readonly<Record<"post" | "get" | "based" | "loco" | "calls", Conversation>>;
}

const texts = (tag: string, count: number) => Array.from({ length: count }, (_, i) => `${tag}:${i}`);

export async function scene(options: ServeOptions = {}, listening: ListenOptions = {}): Promise<Scene> {
  /** Tag -> how often its handler was begun, and how often each command was heard. */
  const begun = new Map<string, number>();
  const heard = new Map<string, Map<string, number>>();
  const add = (counts: Map<string, number>, key: string) => void counts.set(key, (counts.get(key) ?? 0) + 1);
  function hear(tag: string, command: string): void {
    const counts = heard.get(tag) ?? new Map<string, number>();
    heard.set(tag, counts);
    add(counts, command);
  }
  const countOf = (tag: string) => Number(tag.split("-")[1]);

  const fold = {
    async *send({ content: tag }) {
      add(begun, tag);
      for (const text of texts(tag, countOf(tag))) yield { type: "text", text };
      yield { type: "done", full_response: "" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const emacs = {
    prompt({ session_id, text }) {
      hear(session_id, text);
      return { status: "accepted", agent_state: "thinking" };
    },
    async *events({ session_id: tag }) {
      add(begun, tag);
      for (const content of texts(tag, countOf(tag))) yield { type: "message.delta", content, role: "assistant" };
      yield { type: "agent.state", state: "idle" };
    },
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const uploads: BasedHandlers = {
    async session(_, channel) {
      channel.send({ type: "initial_state", files: [], activeFile: null });
      for await (const message of channel) {
        if (message.type !== "upload_file") continue;
        hear(message.filename.split(":")[0]!, message.filename);
        channel.send({ type: "file_uploaded", filename: message.filename, files: [] });
      }
    },
  };
  const speech = {
    async stream({ session_id: tag }, channel) {
      add(begun, tag);
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for (const token of texts(tag, countOf(tag))) channel.send({ type: "assistant.token", token });
      for await (const message of channel) if (message.type === "client.user_message") hear(tag, message.message);
    },
  } as Partial<LocoHandlers> as LocoHandlers;

  const apps = [serve(foldGateway, fold, options), serve(emacsAgent, emacs, options)];
  apps.push(serve(based, uploads, options), serve(loco, speech, options));
  const server = await listen(apps, { closeAfter: 0, ...listening });

  function conversation(
    name: string,
    talk: (connection: ConnectOptions, tag: string, wanted: readonly string[], got: string[]) => Promise<void>,
  ): Conversation {
    return {
      name,
      async hold(baseUrl, tag, count, options) {
        const named = `${tag}-${count}`;
        const wanted = texts(named, count);
        const got: string[] = [];
        let error: unknown;
        try {
          const connection = { baseUrl, webSocket, random: () => 0, retryWaits: [0, 0, 0, 0, 0, 0], ...options };
          await talk(connection, named, wanted, got);
        } catch (thrown) {
          error = thrown;
        }
        const counts = { commands: heard.get(named) ?? new Map(), begun: begun.get(named) ?? 0 };
        return { tag: named, wanted, got, error, ...counts };
      },
    };
  }

  return {
    server,
    conversations: {
      post: conversation("SSE on POST", async (connection, tag, _, got) => {
        for await (const message of connect(foldGateway, connection).send({ content: tag }))
          if (message.type === "text") got.push(message.text);
      }),
      get: conversation("SSE on GET", async (connection, tag, _, got) => {
        const client = connect(emacsAgent, connection);
        for await (const message of client.events({ session_id: tag })) {
          if (message.type === "message.delta") got.push(message.content);
          if (message.type === "agent.state") break;
        }
      }),
      based: conversation("WebSocket (based)", async (connection, _, wanted, got) => {
        await using session = await connect(based, connection).session();
        for (const filename of wanted) {
          const answer = await session.ask({ type: "upload_file", filename, content: "" });
          if (answer.type === "file_uploaded") got.push(answer.filename);
        }
      }),
      calls: conversation("plain calls", async (connection, tag, wanted, got) => {
        const client = connect(emacsAgent, connection);
        // A call may be lost, and its caller is told so; it may not be done twice.
        await Promise.allSettled(wanted.map((text) => client.prompt({ session_id: tag, text })));
        got.push(...wanted);
      }),
      loco: conversation("WebSocket (loco)", async (connection, tag, wanted, got) => {
        const open = { client_info: { name: "test", version: "1", capabilities: [] } };
        await using session = await connect(loco, connection).stream({ session_id: tag }, { open });
        for (const message of ["1", "2", "3"]) session.send({ type: "client.user_message", message });
        for await (const message of session) {
          if (message.type === "assistant.token") got.push(message.token);
          if (got.length === wanted.length) break;
        }
      }),
    },
  };
}
