import { once } from "node:events";
import { request } from "node:http";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { AnyContract, AnyMessage } from "@parlance/wire";
import type { AnyChannel } from "@parlance/wire/link";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { golden } from "./golden.js";

const KEY = { "Parlance-Resume": "0".repeat(32) };

/** Serves a contract with one handler; a peer that knows the documents only reaches it at the URL. */
async function serving(contract: AnyContract, name: string, handler: (...args: never[]) => unknown): Promise<string> {
  const server = await listen(
    serve(contract as never, { [name]: handler } as never, { heartbeat: 0, allowAnonymous: true }),
    {
      port: 0,
      closeAfter: 0,
    },
  );
  onTestFinished(() => server.close());
  return server.url;
}

/** Asks by node:http, and returns the answer when so many blocks are there. */
async function ask(url: string, method: string, headers: Record<string, string>, body?: string, blocks = 0) {
  const sent = request(url, { method, headers: { "Content-Type": "application/json", ...headers }, agent: false });
  sent.end(body);
  const [answer] = await once(sent, "response");
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) {
    text += chunk;
    if (blocks > 0 && text.split("\n\n").length > blocks) break;
  }
  const { date, ...rest } = answer.headers as Record<string, string>;
  expect(date).toBeDefined();
  return { text, headers: rest };
}

it.each([
  { contract: agentsmithy, operation: "chat", method: "POST", path: "/api/chat" },
  { contract: foldGateway, operation: "send", method: "POST", path: "/api/send" },
  { contract: emacsAgent, operation: "events", method: "GET", path: "/api/sessions/s/events" },
] as const)(
  "$contract.name writes the documented bytes to node:http, and with a key only id lines beside them",
  async ({ operation, method, path, ...one }) => {
    const contract = one.contract as unknown as AnyContract;
    const { messages, end = [], mayEnd = [] } = contract.operations[operation]!.answer.stream!;
    const all = Object.values(await golden(contract)).flat();
    const streamed = all.filter(({ from, message }) => from === "server" && messages.includes(message.type));
    const ends = (type: string) => [...end, ...mayEnd].includes(type);
    const last = streamed.find(({ message }) => end.includes(message.type));
    const said = [...streamed.filter(({ message }) => !ends(message.type)), ...(last ? [last] : [])];
    expect(said.length).toBeGreaterThan(3);
    const url = await serving(contract, operation, async function* () {
      for (const { message } of said) yield message;
    });
    const body = JSON.stringify({ messages: [{ role: "user", content: "x" }], stream: true, content: "x" });
    const read = (key: Record<string, string>) =>
      ask(url + path, method, key, method === "POST" ? body : undefined, said.length);
    const plain = await read({});
    const keyed = await read(KEY);
    const wire = said.map(({ wire }) => wire).join("");
    expect(plain.text).toBe(wire);
    expect(keyed.text).toMatch(/^id: /m);
    expect(keyed.text.replace(/^id: .*\n/gm, "")).toBe(wire);
    const { "parlance-resume": said_, ...others } = keyed.headers;
    expect(said_).toMatch(/grace=30/);
    expect(others).toEqual(plain.headers);
  },
);

describe.each([
  { contract: loco, channel: "stream", path: "/v1/sessions/s/stream" },
  { contract: based, channel: "session", path: "/ws" },
] as const)("$contract.name exchanges the documented frames", async ({ channel: name, path, ...one }) => {
  const contract = one.contract as unknown as AnyContract;
  const { client, server } = contract.channels[name]!;
  // An error of the protocol is sent by the runtime itself, and tested where that is.
  const conversations = Object.entries(await golden(contract)).filter(
    ([title, lines]) => lines.length > 0 && !title.startsWith("errors"),
  );

  it.each(
    conversations.flatMap(([title, lines]) => [
      { title, lines, how: "plain" as const },
      { title, lines, how: "with a ticket" as const },
      { title, lines, how: "cut and joined at each frame" as const },
    ]),
  )("with a bare socket, $how: $title", async ({ lines, how }) => {
    const said = lines.filter(({ from, message }) => (from === "client" ? client : server).includes(message.type));
    const heard: AnyMessage[] = [];
    const url = await serving(contract, name, async (_: unknown, channel: AnyChannel) => {
      const incoming = channel[Symbol.asyncIterator]();
      for (const { from, message } of said)
        if (from === "server") channel.send(message);
        else heard.push((await incoming.next()).value);
      await incoming.next();
    });

    const got: Buffer[] = [];
    let socket: WebSocket | undefined;
    let epoch = "";
    /** A socket as documented, or the next one of a channel that is joined again. */
    async function open(): Promise<void> {
      let protocol: string[] = [];
      if (how !== "plain") {
        const cursor: Record<string, string> = epoch ? { "Last-Event-ID": `${epoch}.${got.length}` } : {};
        const { text, headers } = await ask(url + path, "GET", { ...KEY, ...cursor });
        epoch = headers["parlance-resume"]!.split(";")[0]!;
        protocol = [`parlance.${JSON.parse(text).ticket}`];
      }
      socket = new WebSocket(url.replace("http", "ws") + path, protocol, { perMessageDeflate: false });
      socket.on("message", (data: Buffer) => got.push(data));
      await once(socket, "open");
      expect(socket.protocol).toBe(protocol[0] ?? "");
    }
    await open();
    let expected = 0;
    for (const { from, wire } of said) {
      if (from === "client") socket!.send(wire);
      else {
        expected++;
        while (got.length < expected) await once(socket!, "message");
        if (how !== "cut and joined at each frame") continue;
        socket!.terminate();
        await open();
      }
    }
    socket!.close();
    await once(socket!, "close");
    const wires = (side: string) => said.filter(({ from }) => from === side).map(({ wire }) => wire);
    expect(got.map((frame) => frame.toString("hex"))).toEqual(
      wires("server").map((wire) => Buffer.from(wire).toString("hex")),
    );
    expect(heard).toEqual(said.filter(({ from }) => from === "client").map(({ message }) => message));
  });
});
