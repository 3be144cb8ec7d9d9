import { createServer, type ServerOptions } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type App, bearer, type ServeOptions, serve } from "@parlance/server";
import { handler, upgrade } from "@parlance/server/node";
import { totals } from "@parlance/wire/scope";
import { expect } from "vitest";
import { speak, statusesOf, until } from "./bytes.js";

export const TOKEN = "token-of-ann";

/** Every carrier on one port, and a record of what reached a handler. */
export interface Served {
  readonly port: number;
  readonly apps: readonly App[];
  /** Names of handlers that were called, with what they were sent. */
  readonly called: string[];
  /** Handlers that have begun and whose signal is not aborted. */
  running(): number;
  /** Bytes that were read of the connection from a port. */
  read(port: number): number;
  /** Lets the handler of `ready` answer. */
  release(): void;
  /** Errors that no caller was shown. */
  readonly errors: unknown[];
  close(): Promise<void>;
}

/** Content for which the handler of `send` waits until its signal aborts. */
export const WAIT = "wait";
/** Agents of so many characters are listed. */
export const LARGE = 8 * 1024 * 1024;

export async function serving(options: ServeOptions = {}, limits: ServerOptions = {}): Promise<Served> {
  const called: string[] = [];
  const errors: unknown[] = [];
  let running = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begin = (name: string, signal: AbortSignal): Promise<void> => {
    called.push(name);
    running++;
    return new Promise((resolve) =>
      signal.addEventListener("abort", () => {
        running--;
        resolve();
      }),
    );
  };
  const fold = {
    health: () => "OK",
    ready: async (_, { signal }) => {
      await Promise.race([begin("ready", signal), released]);
      return "late";
    },
    listAgents: () => {
      called.push("listAgents");
      return [{ id: "1", name: "x".repeat(LARGE), capabilities: [] }];
    },
    async *send({ content }, { signal }) {
      if (content === WAIT) {
        const over = begin(`send ${content}`, signal);
        yield { type: "text", text: "waiting" };
        await over;
        return;
      }
      called.push(`send ${content}`);
      yield { type: "done", full_response: content };
    },
  } satisfies Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const emacs = {
    // biome-ignore lint/correctness/useYield: a session's stream that has nothing of its own to send
    async *events(_, { signal }) {
      await begin("events", signal);
    },
  } as Partial<EmacsAgentHandlers> as EmacsAgentHandlers;
  const sockets: BasedHandlers = {
    async session(_, channel, { signal }) {
      begin("session", signal);
      channel.send({ type: "initial_state", files: [], activeFile: null });
      for await (const message of channel) called.push(message.type);
    },
  };
  const agent = {
    listWorkspaces: () => [],
    async stream(_, channel, { signal }) {
      begin("stream", signal);
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const message of channel) called.push(message.type);
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  // What the guard refuses is reported once a name, and answered as the tests say.
  const onError: ServeOptions["onError"] = (error, { source }) =>
    void (source !== "the guard of Host and Origin" && errors.push(error));
  const all: ServeOptions = { onError, grace: 50, tombstoneLife: 50, ...options };
  const apps = [
    serve(foldGateway, fold, all),
    serve(emacsAgent, emacs, all),
    serve(based, sockets, all),
    serve(loco, agent, { authenticate: bearer({ [TOKEN]: "ann" }), allowAnonymous: true, ...all }),
  ];
  const server = createServer({ maxHeaderSize: 16 * 1024, ...limits }, handler(apps)).on("upgrade", upgrade(apps));
  server.maxHeadersCount = 0;
  /** By the port of their client. A request for another protocol makes a connection new once more. */
  const connections = new Map<number, Socket>();
  server.on("connection", (socket: Socket) => connections.set(socket.remotePort!, socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    apps,
    called,
    running: () => running,
    release,
    read: (port) => connections.get(port)?.bytesRead ?? 0,
    errors,
    async close() {
      for (const app of apps) app.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** After a case nothing is held, no handler runs, and the server answers. */
export async function expectRest(served: Served): Promise<void> {
  const held = () => Object.entries(totals()).filter(([, count]) => count !== 0);
  await until(() => held().length === 0 && served.running() === 0);
  for (const app of served.apps) expect(Object.values(app.stats()).every((count) => count === 0)).toBe(true);
  const health = `GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`;
  expect(statusesOf(await speak(served.port, health))).toEqual([200]);
  expect(served.errors).toEqual([]);
}
