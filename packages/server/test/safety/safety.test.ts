import { inspect } from "node:util";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { bearer, serve } from "@parlance/server";
import { type Listening, listen } from "@parlance/server/node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { cases, SECRET } from "./cases.js";
import { ask } from "./raw.js";

/** Everything that hooks, errors and the standard outputs have shown. */
const shown: string[] = [];
const LISTED = "https://listed.example";
const STREAM = "/v1/sessions/s/stream";
const KEY = "0123456789abcdef".repeat(2);
const authorized = { Authorization: `Bearer ${SECRET}` };
let server: Listening;
let sent = 0;
const written = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }));

beforeAll(async () => {
  for (const { stream, write } of written)
    stream.write = ((chunk: string | Uint8Array, ...rest: []) => {
      shown.push(String(chunk));
      return write.call(stream, chunk, ...rest);
    }) as typeof stream.write;
  const hooks = {
    // What a log line of such a hook would hold.
    refuse: (_: Request, refusal: Error, cause: unknown, name?: string) =>
      void shown.push(inspect([refusal, cause, name], { depth: 9 })),
    message: (_: unknown, message: unknown) => void shown.push(inspect(message)),
  };
  const fold = {
    listAgents: () => [],
    async *send() {
      sent++;
      yield { type: "done", full_response: "" };
    },
  } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const agent = {
    listWorkspaces: () => [],
    stream: async (_, channel) => {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const _message of channel);
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const authenticate = bearer({ [SECRET]: "ann", "other-token": "bob" });
  const origins = [LISTED];
  const apps = [
    serve(foldGateway, fold, { hooks, origins }),
    serve(loco, agent, { hooks, origins, authenticate, grace: 1000 }),
  ];
  server = await listen(apps, { port: 0, closeAfter: 0 });
});

afterAll(async () => {
  for (const { stream, write } of written) stream.write = write;
  await server.close();
});

it("at least 120 cases are asked", () => expect(cases.length).toBeGreaterThanOrEqual(120));

it.each(cases)("$what is answered with $status", async (one) => {
  const before = sent;
  const { status, headers, text } = await ask(server.url, one);
  expect([status, status < 400 ? "" : text.slice(0, 200)]).toEqual([one.status, expect.any(String)]);
  shown.push(text, inspect(headers));
  if (status >= 400) expect(sent).toBe(before);
  if (status === 401) expect(headers["www-authenticate"]).toMatch(/^Bearer/);
  const listed = one.headers?.Origin === LISTED;
  expect(headers["access-control-allow-origin"]).toBe(listed ? LISTED : undefined);
});

/** The status of a handshake; 101 where it succeeded. */
function shake(headers: Record<string, string>, protocols: string[] = [], path = STREAM): Promise<number> {
  return new Promise((resolve, reject) => {
    const own = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace("{own}", server.url)]),
    );
    const socket = new WebSocket(server.url.replace("http", "ws") + path, protocols, { headers: own });
    socket.on("open", () => {
      socket.terminate();
      resolve(101);
    });
    socket.on("unexpected-response", (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    socket.on("error", reject);
  });
}

it.each([
  [101, "the token", authorized],
  [401, "no token", {}],
  [401, "a wrong token", { Authorization: "Bearer x" }],
  [403, "a page of another site", { ...authorized, Origin: "http://evil.example" }],
  [403, "a page of another port", { ...authorized, Origin: "http://localhost:1" }],
  [403, "a sandboxed page", { ...authorized, Origin: "null" }],
  [403, "a rebound name", { ...authorized, Host: "evil.example" }],
  [101, "a page that is listed", { ...authorized, Origin: LISTED }],
  [101, "its own page", { ...authorized, Origin: "{own}" }],
])("a handshake is answered with %i for %s", async (status, _, headers) => {
  expect(await shake(headers as unknown as Record<string, string>)).toBe(status);
});

async function ticketOf(headers: Record<string, string>, path = STREAM): Promise<string> {
  const { status, text } = await ask(server.url, { path, headers: { ...headers, "Parlance-Resume": KEY } });
  expect(status).toBe(200);
  return `parlance.${(JSON.parse(text) as { ticket: string }).ticket}`;
}

it("a ticket opens one socket, on its path and from its origin", async () => {
  const other = "/v1/sessions/t/stream";
  const once = await ticketOf(authorized);
  expect(await shake({}, [once])).toBe(101);
  expect(await shake({}, [once])).not.toBe(101);
  expect(await shake({}, [await ticketOf(authorized)], other)).not.toBe(101);
  expect(await shake({ Origin: LISTED }, [await ticketOf(authorized)])).not.toBe(101);
  expect(await shake({}, [await ticketOf({ ...authorized, Origin: LISTED })])).not.toBe(101);
  const [first, second] = [await ticketOf(authorized), await ticketOf(authorized)];
  expect(await shake({}, [first])).not.toBe(101);
  expect(await shake({}, [second])).toBe(101);
  expect(await shake({}, [`parlance.${"0".repeat(32)}`])).not.toBe(101);
});

it("a key of one principal opens nothing for another", async () => {
  const own = await ask(server.url, { path: STREAM, headers: { ...authorized, "Parlance-Resume": KEY } });
  const epoch = String(own.headers["parlance-resume"]).split(";")[0];
  const headers = { Authorization: "Bearer other-token", "Parlance-Resume": KEY, "Last-Event-ID": `${epoch}.0` };
  expect((await ask(server.url, { path: STREAM, headers })).status).toBe(410);
});

it.each(["http://localhost", "http://127.0.0.1"])(
  "a redirect to another origin carries no token (%s)",
  async (host) => {
    const heard: (string | undefined)[] = [];
    const { createServer } = await import("node:http");
    const thief = createServer((request, response) => {
      heard.push(request.headers.authorization);
      response.writeHead(200, { "Content-Type": "application/json" }).end("[]");
    });
    const lure = createServer((request, response) => {
      const { port } = thief.address() as { port: number };
      response.writeHead(307, { Location: `${host}:${port}${request.url}` }).end();
    });
    for (const one of [thief, lure]) await new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(lure.address() as { port: number }).port}`;
    try {
      expect(await connect(loco, { baseUrl, token: SECRET }).listWorkspaces()).toEqual([]);
      expect(heard).toEqual([undefined]);
      const open = { client_info: { name: "t", version: "1", capabilities: [] } };
      const socket = connect(loco, { baseUrl, token: SECRET, webSocket, resume: false }).stream(
        { session_id: "s" },
        { open },
      );
      await expect(socket).rejects.toMatchObject({ name: "Disconnected", cause: { name: "Refusal", status: 307 } });
      expect(heard).toHaveLength(1);
    } finally {
      thief.close();
      lure.close();
    }
  },
);

it("many refused at once ask for one new token", async () => {
  let asked = 0;
  const token = async () => (asked++ === 0 ? "expired" : SECRET);
  const client = connect(loco, { baseUrl: server.url, token });
  await client.listWorkspaces();
  expect(asked).toBe(2);
  asked = 0;
  const fresh = connect(loco, { baseUrl: server.url, token });
  await Promise.all(Array.from({ length: 20 }, () => fresh.listWorkspaces()));
  expect(asked).toBe(2);
});

it("no error of a client shows its token", async () => {
  const open = { client_info: { name: "t", version: "1", capabilities: [] } };
  const closed = connect(loco, { baseUrl: "http://127.0.0.1:1", token: SECRET, webSocket, retryWaits: [] });
  const wrong = connect(loco, { baseUrl: server.url, token: `${SECRET}x`, webSocket, retryWaits: [] });
  for (const client of [closed, wrong])
    for (const failing of [client.listWorkspaces(), client.stream({ session_id: "s" }, { open })])
      shown.push(
        inspect(
          await failing.then(
            () => "no error",
            (error: unknown) => error,
          ),
          { depth: 9 },
        ),
      );
  expect(shown.filter((text) => text === "no error")).toEqual([]);
});

it("the planted secret was shown nowhere", () => {
  const names = new Set(cases.map(({ what }) => what));
  expect(names.size).toBe(cases.length);
  expect(shown.length).toBeGreaterThan(120);
  expect(shown.filter((text) => text.includes(SECRET))).toEqual([]);
});
