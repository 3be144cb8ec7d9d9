import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { OpenSocket } from "@parlance/wire";
import { RESUME } from "@parlance/wire/resume-key";
import { describe, expect, it } from "vitest";
import { peer, type Script } from "../peer.js";

// Which credentials each request of a conversation carries: a test of a refusal alone passes where none are ever sent.

/** A peer that notes each request and handshake: its method, credentials, key of the conversation and cursor. */
function noting(script: Script) {
  const { fetch, webSocket } = peer(script);
  const sent: string[] = [];
  let key: string | null = null;
  const note = (method: string, headers: Headers) => {
    const given = headers.get(RESUME);
    key ??= given;
    const parts = [method, headers.get("Authorization") ?? "nothing"];
    if (given !== null) parts.push(given === key ? "key" : "another key");
    if (headers.has("Last-Event-ID")) parts.push(headers.get("Last-Event-ID")!);
    sent.push(parts.join(", "));
  };
  const options: ConnectOptions = {
    fetch(request) {
      note(request.method, request.headers);
      return fetch(request);
    },
    webSocket: ((url, init) => {
      note(init.protocols.length > 0 ? "socket with a ticket" : "socket", new Headers(init.headers));
      return webSocket(url, init);
    }) as OpenSocket,
    random: () => 0,
  };
  return { sent, options };
}

const cut = () => Promise.reject(new Error("cut"));
/** Conversations with the requests that the peer receives. `-` stands for the credentials. */
const conversations: Readonly<
  Record<string, { script: Script; talk: (options: ConnectOptions) => Promise<unknown>; sent: readonly string[] }>
> = {
  "an operation": {
    script: { mode: "base" },
    talk: (options) => connect(foldGateway, options).listAgents(),
    sent: ["GET, -"],
  },
  "a stream by POST that is cut, and joined again": {
    script: { mode: "resume", afterFirst: cut },
    async talk(options) {
      for await (const _ of connect(foldGateway, options).send({ content: "x" }));
    },
    sent: ["POST, -, key", "GET, -, key, e1.1"],
  },
  "a stream by POST that is left": {
    script: { mode: "resume", hold: true },
    async talk(options) {
      for await (const _ of connect(foldGateway, options).send({ content: "x" })) return;
    },
    sent: ["POST, -, key", "DELETE, -, key"],
  },
  "a stream by GET": {
    script: { mode: "base" },
    async talk(options) {
      for await (const _ of connect(emacsAgent, options).events({ session_id: "s" })) return;
    },
    sent: ["GET, -, key"],
  },
  "a channel of a server that does not resume": {
    script: { mode: "base" },
    talk: async (options) => (await connect(based, options).session()).close(),
    sent: ["socket, -, key"],
  },
  // The ticket takes the place of the token: a browser's socket cannot carry one.
  "a resumable channel that is cut, and joined again": {
    script: { mode: "resume", cutSocket: true },
    async talk(options) {
      const session = await connect(based, options).session();
      await session.ask({ type: "list_files" });
      await session.close();
    },
    sent: ["socket, -, key", "GET, -, key, e1.1", "socket with a ticket, nothing"],
  },
  "a resumable channel that its server no longer knows": {
    script: { mode: "resume", cutSocket: true },
    async talk({ fetch, ...options }) {
      const forgetful = async (request: Request) => {
        const answer = await fetch!(request);
        return request.headers.has("Last-Event-ID") ? new Response("no", { status: 404 }) : answer;
      };
      const session = await connect(based, { ...options, fetch: forgetful }).session();
      await session.closed.catch(() => {});
    },
    sent: ["socket, -, key", "GET, -, key, e1.1"],
  },
};

const tokens: readonly [name: string, token: ConnectOptions["token"], credentials: string][] = [
  ["no token", undefined, "nothing"],
  ["a string", "secret", "Bearer secret"],
  ["a function", () => "secret", "Bearer secret"],
  ["an async function", async () => "secret", "Bearer secret"],
];

describe("A channel whose socket carries no token, as in a page,", () => {
  const answer = (status: number, headers: HeadersInit = {}) => new Response("no", { status, headers });
  const refused: readonly [what: string, fetch: () => Promise<Response>, error: object][] = [
    ...[401, 402, 403, 409, 410, 422, 429, 451, 500, 501, 503].map(
      (status) =>
        [
          `a ticket is refused with ${status}`,
          async () => answer(status, { "Retry-After": "7" }),
          { name: "Refusal", status, retryAfter: 7 },
        ] as [string, () => Promise<Response>, object],
    ),
    [
      "nothing listens",
      async () => {
        throw new TypeError("fetch failed");
      },
      { name: "Disconnected", code: "unreachable" },
    ],
    ...[200, 204, 302, 404, 405, 426].map(
      (status) =>
        [
          `a server without tickets answers ${status}`,
          async () => (status === 204 ? new Response(null, { status }) : answer(status)),
          { name: "TypeError", code: "usage" },
        ] as [string, () => Promise<Response>, object],
    ),
    [
      "a server of WebSockets alone answers 400",
      async () => answer(400, { "Content-Type": "text/html" }),
      { name: "TypeError", code: "usage" },
    ],
  ];

  it.each(refused)("says why it cannot open where %s", async (_, fetch, error) => {
    await expect(connect(based, { baseUrl: "http://x", fetch, token: "secret" }).session()).rejects.toMatchObject(
      error,
    );
  });
});

describe.each(Object.entries(conversations))("%s", (_, { script, talk, sent }) => {
  it.each(tokens)("carries %s with each request", async (_, token, credentials) => {
    const noted = noting(script);
    await talk({ ...noted.options, resume: true, token });
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    await expect.poll(() => noted.sent).toEqual(sent.map((line) => line.replace("-", credentials)));
  });
});

describe("A refused token", () => {
  const refusing = (accepted: string) => {
    const seen: (string | null)[] = [];
    const fetch = async ({ headers }: Request) => {
      seen.push(headers.get("Authorization"));
      return seen.at(-1) === `Bearer ${accepted}` ? Response.json([]) : new Response("no", { status: 401 });
    };
    return { seen, fetch };
  };

  it("of a function is replaced once, and the new one is kept", async () => {
    const { seen, fetch } = refusing("t2");
    let made = 0;
    const client = connect(foldGateway, { fetch, token: () => `t${++made}` });
    await client.listAgents();
    await client.listAgents();
    expect(seen).toEqual(["Bearer t1", "Bearer t2", "Bearer t2"]);
  });

  it("of a function that only makes refused ones is a refusal after the second", async () => {
    const { seen, fetch } = refusing("none");
    let made = 0;
    const client = connect(foldGateway, { fetch, token: () => `t${++made}` });
    await expect(client.listAgents()).rejects.toMatchObject({ name: "Refusal", status: 401 });
    expect(seen).toEqual(["Bearer t1", "Bearer t2"]);
  });

  it.each([
    ["s", "Bearer s"],
    [undefined, null],
  ] as const)("that is the string %s is sent once, and the error says whether one was given", async (token, sent) => {
    const { seen, fetch } = refusing("none");
    const error: Error = await connect(foldGateway, { fetch, token })
      .listAgents()
      .catch((error) => error);
    expect(error).toMatchObject({ name: "Refusal", status: 401 });
    expect(error.message.includes("no `token` was given")).toBe(token === undefined);
    expect(seen).toEqual([sent]);
  });

  it("of two requests at once is replaced by one new token", async () => {
    const { seen, fetch } = refusing("t2");
    let made = 0;
    const client = connect(foldGateway, { fetch, token: () => `t${++made}` });
    await Promise.all([client.listAgents(), client.listAgents()]);
    expect(made).toBe(2);
    expect([...seen].sort()).toEqual(["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"]);
  });
});
