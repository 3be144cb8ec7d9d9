import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type App, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { listen } from "@parlance/server/node";
import { memoryLog } from "@parlance/server/resume";
import type { AnyMessage, OpenSocket } from "@parlance/wire";
import { onTestFinished } from "vitest";

/** What a server does with its `send`, once there is a reader. */
export type Sending = (send: (text: string) => Promise<void>) => unknown;

export interface Reading extends AsyncIterable<AnyMessage> {
  close?(): Promise<void>;
}

export interface Way {
  readonly resume?: boolean;
  /** With two servers, the reader is on one, and the handler that sends on the other. */
  readonly servers: 1 | 2;
  open(urls: readonly string[], resume: boolean, open: OpenSocket): Promise<Reading>;
  app(sending: Sending, options: ServeOptions): App;
}

/** A channel whose handler sends. */
const channel = {
  app(sending: Sending, options: ServeOptions): App {
    const handlers: BasedHandlers = {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        await sending((content) => channel.send({ type: "file_content", filename: "a", content }));
      },
    };
    return serve(based, handlers, options);
  },
  open(urls: readonly string[], resume: boolean, open: OpenSocket): Promise<Reading> {
    const [first, last] = [new URL(urls[0]!).host, new URL(urls.at(-1)!).host];
    return connect(based, {
      baseUrl: urls[0]!,
      resume,
      random: () => 0,
      webSocket: (url, init) => open(url.replace(first, last), init),
    }).session();
  },
};

/** A session that is read over a channel, and that another request sends to. */
const sessionOnChannel = {
  app(sending: Sending, options: ServeOptions): App {
    const handlers: Partial<LoCoHandlers> = {
      async stream(_, channel) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        await channel.closed;
      },
      async health(_, { session }) {
        await sending((token) => session("s").send({ type: "assistant.token", token }));
        return { status: "healthy" };
      },
    };
    return serve(loco, handlers, { ...options, allowAnonymous: true, partial: true });
  },
  async open(urls: readonly string[], resume: boolean, open: OpenSocket): Promise<Reading> {
    const opening = { client_info: { name: "t", version: "1", capabilities: [] } };
    const client = connect(loco, { baseUrl: urls[0]!, webSocket: open, resume });
    const reading = await client.stream({ session_id: "s" }, { open: opening });
    connect(loco, { baseUrl: urls.at(-1)! })
      .health()
      .catch(() => {});
    return reading;
  },
};

/** A session that is read over SSE. */
const sessionOnStream = {
  app(sending: Sending, options: ServeOptions): App {
    const handlers: Partial<EmacsAgentHandlers> = {
      async *events(_, { signal }) {
        yield { type: "agent.state", state: "idle" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      async prompt({ session_id }, { session }) {
        await sending((content) => session(session_id).send({ type: "message.delta", content, role: "assistant" }));
        return { status: "accepted", agent_state: "thinking" };
      },
    };
    return serve(emacsAgent, handlers, { ...options, partial: true });
  },
  async open(urls: readonly string[], resume: boolean): Promise<Reading> {
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const client = connect(emacsAgent, { baseUrl: urls[0]!, resume });
    const stream = client.events({ session_id: "s" }, { signal: leaving.signal });
    await stream.opened;
    connect(emacsAgent, { baseUrl: urls.at(-1)! })
      .prompt({ session_id: "s", text: "go" })
      .catch(() => {});
    return stream;
  },
};

export const WAYS = {
  "a channel as documented": { ...channel, servers: 1 },
  "a channel that can be resumed": { ...channel, servers: 1, resume: true },
  "a channel whose socket is on another server": { ...channel, servers: 2, resume: true },
  "a session that is read over a channel": { ...sessionOnChannel, servers: 1 },
  "a session that is read over a channel of another server": { ...sessionOnChannel, servers: 2, resume: true },
  "a session that is read over a stream": { ...sessionOnStream, servers: 1 },
  "a session that is read over a stream that can be resumed": { ...sessionOnStream, servers: 1, resume: true },
  "a session that is read over a stream of another server": { ...sessionOnStream, servers: 2, resume: true },
} satisfies Record<string, Way>;

export interface Begun {
  readonly reading: Reading;
  /** The text of each message that has one. */
  readonly texts: AsyncIterableIterator<string>;
}

/** Serves, connects, and has the server send once its first message was read: before that it may know of no reader. */
export async function begin(
  { resume = false, servers, open, app }: Way,
  sending: Sending,
  options: ServeOptions = {},
  openSocket: OpenSocket = webSocket,
): Promise<Begun> {
  const shared = servers === 2 ? { cluster: clusterOn(memoryPubSub(), memoryLog()) } : {};
  const urls: string[] = [];
  let met = (): void => {};
  const meeting = new Promise<void>((resolve) => {
    met = resolve;
  });
  const greeting: Sending = async (send) => {
    await send(HELLO);
    await meeting;
    return sending(send);
  };
  for (let i = 0; i < servers; i++) {
    const server = await listen(app(greeting, { ...options, ...shared, resume }), { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    urls.push(server.url);
  }
  const reading = await open(urls, resume, openSocket);
  onTestFinished(() => reading.close?.());
  const texts = textsOf(reading);
  const { value } = await texts.next();
  if (value !== HELLO) throw new Error(`the first text is ${value}`);
  met();
  return { reading, texts };
}

const HELLO = "hello";

async function* textsOf(messages: AsyncIterable<AnyMessage>): AsyncIterableIterator<string> {
  for await (const message of messages as AsyncIterable<AnyMessage & Record<string, unknown>>) {
    const text = message.content ?? message.token;
    if (typeof text === "string") yield text;
  }
}
