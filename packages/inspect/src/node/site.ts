import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Asset } from "./assets.js";
import { BadRequest, HEADERS, newToken, refusal, send } from "./guard.js";

/** An answer as JSON, or written by the route itself. */
export type RouteHandler = (
  request: IncomingMessage,
  url: URL,
  response: ServerResponse,
) => Promise<object | undefined>;

/** The page's own interface: `METHOD /api/name` -> handler. */
export type Routes = Readonly<Record<string, RouteHandler>>;

export interface Site {
  /** The page's address, with the token in its fragment, which no request carries. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the page and its routes on the loopback interface, to the holder of the token only. */
export async function serveSite(assets: Readonly<Record<string, Asset>>, routes: Routes, port = 0): Promise<Site> {
  const token = newToken();
  const sockets = new Set<Socket>();
  let host = "";
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => {
      if (response.headersSent) return response.destroy();
      const known = error instanceof BadRequest;
      const message = known ? error.message : `the inspector failed: ${(error as Error).message}`;
      send(response, known ? 400 : 500, "application/json", JSON.stringify({ error: message }));
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", `http://${host}`);
    const asset = assets[url.pathname];
    const refused = refusal(request, host, token, asset !== undefined);
    if (refused) return send(response, 403, "text/plain", refused);
    if (asset && request.method === "GET") return send(response, 200, ...asset);
    const route = routes[`${request.method} ${url.pathname}`];
    if (!route) return send(response, 404, "text/plain", "not here");
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const answer = await route(request, url, response);
    if (answer) send(response, 200, "application/json", JSON.stringify(answer));
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve());
  });
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/#token=${token}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
