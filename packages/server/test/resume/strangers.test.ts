import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ConnectOptions, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import type { AnyContract, AnyMessage } from "@parlance/wire";
import type { AnyChannel } from "@parlance/wire/link";
import { expect, it, onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { golden } from "./golden.js";

// Servers that know the documents only, made of node:http and ws: resume is on, and nothing of it may be needed or heard.

interface Stranger {
  readonly options: ConnectOptions;
  /** Method, target and body of each request, and the subprotocols of each handshake. */
  readonly asked: string[];
}

async function stranger(
  answer: (outgoing: ServerResponse) => void,
  talk: (socket: WebSocket) => void,
): Promise<Stranger> {
  const asked: string[] = [];
  const note = async (incoming: IncomingMessage) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    asked.push([incoming.method, incoming.url, body].join(" ").trim());
  };
  const server = createServer((incoming, outgoing) => void note(incoming).then(() => answer(outgoing)));
  const acceptor = new WebSocketServer({ noServer: true });
  server.on("upgrade", (incoming, socket, head) => {
    asked.push(`upgrade ${incoming.url} ${incoming.headers["sec-websocket-protocol"] ?? ""}`.trim());
    acceptor.handleUpgrade(incoming, socket, head, talk);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, options: { baseUrl, webSocket, random: () => 0 } };
}

async function heard(messages: AsyncIterable<AnyMessage>): Promise<{ got: AnyMessage[]; error?: unknown }> {
  const got: AnyMessage[] = [];
  try {
    for await (const message of messages) got.push(message);
    return { got };
  } catch (error) {
    return { got, error };
  }
}

const chat = { messages: [{ role: "user" as const, content: "x" }] };
it.each([
  {
    contract: agentsmithy,
    operation: "chat",
    read: (options: ConnectOptions) => connect(agentsmithy, options).chat(chat),
    asks: `POST /api/chat ${JSON.stringify({ ...chat, stream: true })}`,
  },
  {
    contract: foldGateway,
    operation: "send",
    read: (options: ConnectOptions) => connect(foldGateway, options).send({ content: "x" }),
    asks: 'POST /api/send {"content":"x"}',
  },
  {
    contract: emacsAgent,
    operation: "events",
    read: (options: ConnectOptions) => connect(emacsAgent, options).events({ session_id: "s" }),
    asks: "GET /api/sessions/s/events",
  },
])(
  "a stream of a $contract.name server that knows the documents only is read, and a cut of it is Disconnected",
  async ({ operation, read, asks, ...one }) => {
    const contract = one.contract as unknown as AnyContract;
    const { messages, end = [], mayEnd = [] } = contract.operations[operation]!.answer.stream!;
    const said = Object.values(await golden(contract))
      .flat()
      .filter(({ from, message: { type } }) => from === "server" && messages.includes(type))
      .filter(({ message: { type } }) => ![...end, ...mayEnd].includes(type));
    const { asked, options } = await stranger(
      (outgoing) => {
        outgoing.writeHead(200, { "Content-Type": "text/event-stream" });
        // A cut in the middle of the last one.
        outgoing.write(`${said.map(({ wire }) => wire).join("")}${said[0]!.wire.slice(0, -3)}`);
        setImmediate(() => outgoing.destroy());
      },
      () => {},
    );
    const { got, error } = await heard(read(options) as AsyncIterable<AnyMessage>);
    expect(got).toEqual(said.map(({ message }) => message));
    expect(error).toMatchObject({ name: "Disconnected", code: "ended_early" });
    expect(asked).toEqual([asks]);
  },
);

const opening = { client_info: { name: "t", version: "1", capabilities: [] } };
it.each([
  {
    contract: loco,
    path: "/v1/sessions/s/stream",
    open: (options: ConnectOptions) => connect(loco, options).stream({ session_id: "s" }, { open: opening }),
  },
  { contract: based, path: "/ws", open: (options: ConnectOptions) => connect(based, options).session() },
])(
  "a channel of a $contract.name server that knows the documents only is held, and a cut of it is Disconnected",
  async ({ path, open, ...one }) => {
    const contract = one.contract as unknown as AnyContract;
    const lines = (await golden(contract))["complete-flow"]!;
    const [channel] = Object.values(contract.channels);
    const said = lines.filter(({ from, message }) => channel![from].includes(message.type));
    const frames: string[] = [];
    const { asked, options } = await stranger(
      (outgoing) => outgoing.writeHead(404).end(),
      async (socket) => {
        socket.on("message", (data) => {
          frames.push(String(data));
          socket.emit("heard");
        });
        let wanted = 0;
        for (const { from, wire } of said) {
          if (from === "server") socket.send(wire);
          else for (wanted++; frames.length < wanted; ) await once(socket, "heard");
        }
        socket.terminate();
      },
    );
    const session = (await open(options)) as unknown as AnyChannel;
    const incoming = session[Symbol.asyncIterator]();
    const got: AnyMessage[] = [];
    for (const { from, message } of said)
      if (from === "server") got.push((await incoming.next()).value);
      else if (message.type !== channel!.open?.client) session.send(message);
    const error = await incoming.next().catch((error: unknown) => error);
    expect(error).toMatchObject({ name: "Disconnected", code: "closed" });
    expect(got).toEqual(said.filter(({ from }) => from === "server").map(({ message }) => message));
    const sent = said.filter(({ from }) => from === "client");
    // What opens the channel is the client's own.
    const own = channel!.open?.client === undefined ? 0 : 1;
    expect(frames.slice(own)).toEqual(sent.slice(own).map(({ wire }) => wire));
    // The offer was a header of the handshake, which it ignored.
    expect(asked).toEqual([`upgrade ${path}`]);
  },
);
