import type { ConnectOptions } from "@parlance/client";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import {
  type EmacsAgentHandlers,
  type EmacsAgentSession,
  type EventsMessage,
  emacsAgent,
} from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { Refusal, type ServeOptions, serve } from "@parlance/server";
import { type Listening, type ListenOptions, listen } from "@parlance/server/node";
import type { Outcome } from "./oracle.js";
import { ASKS, HASTY, type RunConversation, runConversation, texts } from "./run-conversation.js";

/** One way to hold a conversation: who says what, and what the client heard. */
export interface Conversation {
  readonly name: string;
  /** Whether its messages are in the event log. */
  readonly logged: boolean;
  /** Asks the server at `baseUrl` for `count` messages that carry the tag. */
  hold(baseUrl: string, tag: string, count: number, options?: ConnectOptions): Promise<Outcome>;
}

/** A server of the four protocols that stream, and what it has seen. */
export interface Fixture {
  readonly server: Listening;
  /** The same without a socket. */
  readonly memory: Required<Pick<ConnectOptions, "baseUrl" | "fetch" | "webSocket">>;
  readonly conversations: Readonly<Record<keyof typeof runConversation, Conversation>>;
  /** How often the handler of a tag was begun, and how often each command was heard. */
  seen(tag: string): Pick<Outcome, "begun" | "commands">;
  /** Ends all pauses. */
  goOn(): void;
}

/** What servers have seen of each conversation, by its tag. Servers that hold conversations together share one. */
export interface Ledger {
  readonly begun: Map<string, number>;
  readonly heard: Map<string, Map<string, number>>;
  /** The first handshake without a key. */
  readonly plain: Map<string, Request>;
  /** Conversations whose agent is at work. */
  readonly agents: Set<string>;
}

export function newLedger(): Ledger {
  return { begun: new Map(), heard: new Map(), plain: new Map(), agents: new Set() };
}

export async function fixture(
  options: ServeOptions = {},
  listening: ListenOptions = {},
  { begun, heard, plain, agents }: Ledger = newLedger(),
  /** Awaited before each text. */
  pace?: () => Promise<unknown>,
): Promise<Fixture> {
  const add = (counts: Map<string, number>, key: string) => void counts.set(key, (counts.get(key) ?? 0) + 1);
  function hear(tag: string, command: string): void {
    const counts = heard.get(tag) ?? new Map<string, number>();
    heard.set(tag, counts);
    add(counts, command);
  }

  /** Nothing in a handshake without a key tells the copy that a proxy makes from another channel: only the first one counts. */
  function isCopy(tag: string, request: Request): boolean {
    if (request.headers.has("Parlance-Resume")) return false;
    const first = plain.get(tag) ?? request;
    plain.set(tag, first);
    return first !== request;
  }

  const pauses = new AbortController();
  /** The texts of a tag, with its pause until the test goes on. */
  async function* say(tag: string, signal: AbortSignal): AsyncGenerator<string> {
    for (const [i, text] of texts(tag).entries()) {
      await pause(tag, i, signal);
      await pace?.();
      if (signal.aborted) return;
      yield text;
    }
  }
  async function pause(tag: string, i: number, signal: AbortSignal): Promise<void> {
    if (i !== Number(tag.split("-")[2] || -1)) return;
    const over = AbortSignal.any([signal, pauses.signal]);
    if (!over.aborted) await new Promise((resolve) => over.addEventListener("abort", resolve));
  }

  async function* deltas(tag: string, signal: AbortSignal): AsyncGenerator<EventsMessage> {
    for await (const content of say(tag, signal)) yield { type: "message.delta", content, role: "assistant" };
    yield { type: "agent.state", state: "idle" };
  }

  const fold = {
    async *send({ content: tag }, { signal }) {
      add(begun, tag);
      for await (const text of say(tag, signal)) yield { type: "text", text };
      yield { type: "done", full_response: "" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const emacs = {
    prompt({ session_id, text }, call) {
      if (text !== session_id) hear(session_id, text);
      else if (!agents.has(text)) {
        agents.add(text);
        // A session that ends fails its asks.
        askAll(call.session(text), text).catch(() => {});
      }
      return { status: "accepted", agent_state: "thinking" };
    },
    approve({ tool_call_id }, { ask }) {
      if (!ask) throw new Refusal("no such tool call", { code: "INVALID_TOOL_CALL" });
      return { status: "approved", tool_call_id };
    },
    async *events({ session_id: tag }, { signal }) {
      add(begun, tag);
      // What an agent asks comes from its session.
      if (!tag.startsWith(ASKS)) yield* deltas(tag, signal);
      else {
        yield { type: "agent.state", state: "thinking" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }
    },
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const uploads: BasedHandlers = {
    async session(_, channel, { request, signal }) {
      channel.send({ type: "initial_state", files: [], activeFile: null });
      for await (const message of channel) {
        if (message.type !== "upload_file") continue;
        const tag = message.filename.split(":")[0]!;
        if (!isCopy(tag, request)) hear(tag, message.filename);
        await pause(tag, heard.get(tag)!.size - 1, signal);
        channel.send({ type: "file_uploaded", filename: message.filename, files: [] });
      }
    },
  };
  const speech = {
    async stream({ session_id: tag }, channel, { request, signal }) {
      const copy = isCopy(tag, request);
      if (!copy) add(begun, tag);
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      const speaking = (async () => {
        for await (const token of say(tag, signal)) channel.send({ type: "assistant.token", token });
      })();
      for await (const message of channel)
        if (message.type === "client.user_message" && !copy) hear(tag, message.message);
      await speaking;
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;

  const all = { partial: true, ...options } as const;
  const apps = [serve(foldGateway, fold, all), serve(emacsAgent, emacs, all)];
  apps.push(serve(based, uploads, all), serve(loco, speech, { ...all, allowAnonymous: true }));
  const server = await listen(apps, { port: 0, closeAfter: 0, ...listening });
  const app = (url: string) => apps.find((one) => one.knows(new URL(url).pathname))!;
  const memory: Fixture["memory"] = {
    baseUrl: "http://localhost",
    fetch: (request) => app(request.url).fetch(request),
    webSocket: (url, init) => app(url).webSocket(url, init),
  };
  const seen = (tag: string) => ({ commands: heard.get(tag) ?? new Map(), begun: begun.get(tag) ?? 0 });

  function conversation(name: string, run: RunConversation, prefix = ""): Conversation {
    return {
      name,
      logged: run === runConversation.post || run === runConversation.get || run === runConversation.asks,
      async hold(baseUrl, tag, count, options) {
        const named = `${prefix}${tag}-${count}`;
        const wanted = texts(named);
        const got: string[] = [];
        let error: unknown;
        try {
          await run({ baseUrl, ...HASTY, ...options }, named, wanted, got);
        } catch (thrown) {
          error = thrown;
        }
        return { tag: named, wanted, got, error, ...seen(named) };
      },
    };
  }

  return {
    server,
    memory,
    seen,
    goOn: () => pauses.abort(),
    conversations: {
      post: conversation("SSE on POST", runConversation.post),
      get: conversation("SSE on GET", runConversation.get),
      based: conversation("WebSocket (based)", runConversation.based),
      loco: conversation("WebSocket (loco)", runConversation.loco),
      calls: conversation("plain calls", runConversation.calls),
      asks: conversation("asks and approvals", runConversation.asks, ASKS),
    },
  };
}

/** An agent that asks for one tool after the other. */
async function askAll(session: EmacsAgentSession, tag: string): Promise<void> {
  for (const tool_call_id of texts(tag))
    await session.ask({ type: "tool.call", tool_call_id, tool: "edit_file", params: {}, requires_approval: true });
}
