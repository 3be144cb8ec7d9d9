import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, bearer, Refusal, type ServeOptions, serve } from "@parlance/server";
import { type EventLog, memoryLog } from "@parlance/server/resume";
import { formatTicket, newKey, RESUME } from "@parlance/wire";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

// Checks come before effects: every entrance, by every refusal. A refused request leaves nothing, and keeps nothing alive.

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
    }),
);
afterEach(() => void vi.useRealTimers());

const GRACE = 1000;
const turns = async () => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** A log that counts what is written to it. */
function countingLog(): EventLog & { writes(): number } {
  const log = memoryLog();
  let count = 0;
  return {
    ...log,
    writes: () => count,
    async open(name) {
      const writer = await log.open(name);
      if (writer) count++;
      return (
        writer && {
          ...writer,
          append: (seq, text) => {
            count++;
            return writer.append(seq, text);
          },
          trim: (seq) => {
            count++;
            return writer.trim(seq);
          },
          drop: () => {
            count++;
            return writer.drop();
          },
        }
      );
    },
  };
}

type How = { readonly host?: string; readonly headers?: Record<string, string>; readonly query?: string };
interface Entrance {
  readonly app: (options: ServeOptions, started: string[]) => App;
  /** What is there already: a stream or channel that waits for its client. */
  readonly prepare?: (app: App, key: string) => Promise<unknown>;
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly isKeyed?: boolean;
  readonly isSocket?: boolean;
}

const partial = { partial: true } as const;
const gateway: Entrance["app"] = (options, started) =>
  serve(
    foldGateway,
    {
      listAgents: () => {
        started.push("listAgents");
        return [];
      },
      async *send(_, { signal }) {
        started.push("send");
        yield { type: "text", text: "a" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    },
    { ...options, ...partial },
  );
const agent: Entrance["app"] = (options, started) => {
  const handlers: Partial<EmacsAgentHandlers> = {
    async *events(_, { signal }) {
      started.push("events");
      yield { type: "agent.state", state: "idle" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    prompt({ session_id }, call) {
      started.push("prompt");
      call.session(session_id).send({ type: "agent.state", state: "thinking" });
      return { status: "accepted", agent_state: "thinking" };
    },
  };
  return serve(emacsAgent, handlers, { ...options, ...partial });
};
const line: Entrance["app"] = (options, started) => {
  const session: BasedHandlers["session"] = async (_, channel) => {
    started.push("session");
    channel.send({ type: "initial_state", files: [], activeFile: null });
    for await (const _ of channel);
  };
  return serve(based, { session }, options);
};

const TOKEN = { Authorization: "Bearer t" };
const JSON_TYPE = { "Content-Type": "application/json" };
const begin = async (app: App, path: string, method: string, key: string, body?: string) => {
  const answer = await app.fetch(
    new Request(`http://localhost${path}`, {
      method,
      headers: { ...TOKEN, [RESUME]: key, ...(body && JSON_TYPE) },
      ...(body && { body }),
    }),
  );
  const reader = answer.body!.getReader();
  await reader.read();
  await reader.cancel();
};
const SEND = { app: gateway, path: "/api/send", body: '{"content":"x"}' };
const EVENTS = "/sessions/s/events";

const ENTRANCES: Record<string, Entrance> = {
  "an operation": { app: gateway, method: "GET", path: "/api/agents" },
  "an operation that writes to a session": {
    app: agent,
    method: "POST",
    path: "/sessions/s/prompt",
    body: '{"text":"x"}',
  },
  "a stream": { ...SEND, method: "POST" },
  "a session's stream": { app: agent, method: "GET", path: EVENTS },
  "a resumable stream": { ...SEND, method: "POST", isKeyed: true },
  "a resumable stream by GET": { app: agent, method: "GET", path: EVENTS, isKeyed: true },
  "a join": {
    app: gateway,
    method: "GET",
    path: "/api/send",
    isKeyed: true,
    prepare: (app, key) => begin(app, "/api/send", "POST", key, SEND.body),
  },
  "a copy of a request": {
    ...SEND,
    method: "POST",
    isKeyed: true,
    prepare: (app, key) => begin(app, "/api/send", "POST", key, SEND.body),
  },
  "a join of a session's stream": {
    app: agent,
    method: "GET",
    path: EVENTS,
    isKeyed: true,
    prepare: (app, key) => begin(app, EVENTS, "GET", key),
  },
  "a cancel": {
    app: gateway,
    method: "DELETE",
    path: "/api/send",
    isKeyed: true,
    prepare: (app, key) => begin(app, "/api/send", "POST", key, SEND.body),
  },
  "an offer of a channel": { app: line, method: "GET", path: "/ws", isKeyed: true },
  "an offer of a channel that is there": {
    app: line,
    method: "GET",
    path: "/ws",
    isKeyed: true,
    prepare: (app, key) => app.fetch(new Request("http://localhost/ws", { headers: { ...TOKEN, [RESUME]: key } })),
  },
  "a cancel of a channel": {
    app: line,
    method: "DELETE",
    path: "/ws",
    isKeyed: true,
    prepare: (app, key) => app.fetch(new Request("http://localhost/ws", { headers: { ...TOKEN, [RESUME]: key } })),
  },
  "a socket": { app: line, method: "GET", path: "/ws", isSocket: true },
  "a socket with a ticket": {
    app: line,
    method: "GET",
    path: "/ws",
    isSocket: true,
    isKeyed: true,
    async prepare(app, key) {
      const offered = await app.fetch(new Request("http://localhost/ws", { headers: { ...TOKEN, [RESUME]: key } }));
      return ((await offered.json()) as { ticket: string }).ticket;
    },
  },
};

interface Refusing {
  readonly how?: How;
  readonly options?: ServeOptions;
  readonly status: number;
  /** Entrances that it does not concern. */
  readonly not?: RegExp;
}
/** Set while the refused request is made. */
let refuses = false;
const REFUSALS: Record<string, Refusing> = {
  "another host": { how: { host: "evil.example" }, status: 403 },
  "another origin": { how: { headers: { Origin: "https://evil.example" } }, status: 403 },
  "another site": { how: { headers: { "Sec-Fetch-Site": "cross-site" } }, status: 403 },
  "a token in the URL": { how: { query: "?token=t" }, status: 400 },
  "no token": { how: { headers: { Authorization: "" } }, status: 401, not: /ticket/ },
  "a wrong token": { how: { headers: { Authorization: "Bearer x" } }, status: 401 },
  "an authentication that throws": {
    options: {
      authenticate() {
        if (refuses) throw new Error("away");
        return "ann";
      },
    },
    status: 500,
  },
  "a principal without an identity": {
    options: { authenticate: () => (refuses ? { name: "ann" } : "ann") },
    status: 500,
  },
  "too many calls": { options: { maxCalls: 0 }, status: 429, not: /ticket|join|cop|cancel|there/ },
  "a hook": {
    options: {
      hooks: {
        request() {
          if (refuses) throw new Refusal("not now", { status: 409 });
        },
      },
    },
    status: 409,
    not: /cancel|ticket/,
  },
  "a hook that fails": {
    options: {
      hooks: {
        async request() {
          if (refuses) throw new Error("away");
        },
      },
    },
    status: 500,
    not: /cancel|ticket/,
  },
  "no place": { options: { maxStreams: 0 }, status: 429, not: /operation|cancel|ticket|join|cop|there/ },
};

const COUNTS = [
  "calls",
  "streams",
  "channels",
  "readers",
  "sessions",
  "asks",
  "places",
  "timers",
  "kept",
  "tickets",
  "tombstones",
  "received",
  "held",
  "queued",
  "logged",
] as const;

async function request(
  app: App,
  of: Entrance,
  key: string,
  prepared: unknown,
  { host = "localhost", query = "", headers }: How = {},
) {
  const all = { ...TOKEN, ...(of.isKeyed && !of.isSocket && { [RESUME]: key }), ...(of.body && JSON_TYPE), ...headers };
  const url = `${host}${of.path}${query}`;
  if (of.isSocket) {
    const protocols = prepared === undefined ? [] : [formatTicket(prepared as string)];
    const opened = await app.webSocket(`ws://${url}`, { headers: all, protocols, maxSize: 1e6 });
    return "refused" in opened ? opened.refused.status : 101;
  }
  const body = of.body === undefined ? {} : { body: of.body };
  const answer = await app.fetch(new Request(`http://${url}`, { method: of.method, headers: all, ...body }));
  void answer.body?.cancel().catch(() => {});
  return answer.status;
}

const cases = Object.entries(ENTRANCES).flatMap(([entrance, of]) =>
  Object.entries(REFUSALS)
    .filter(([, { not }]) => !not?.test(entrance))
    .map(([refusal, by]) => ({ entrance, of, refusal, by })),
);

describe("a refused request", () => {
  it.each(cases)("leaves what was there as it was: $entrance, refused by $refusal", async ({ of, by }) => {
    const started: string[] = [];
    const log = countingLog();
    const options = {
      authenticate: bearer({ t: "ann" }),
      log,
      grace: GRACE,
      ticketLife: 10 * GRACE,
      heartbeat: 0,
      onError: false,
    } as const;
    const app = of.app({ ...options, ...by.options }, started);
    const key = newKey();
    refuses = false;
    const prepared = await of.prepare?.(app, key);
    await turns();
    const count = () => ({
      ...Object.fromEntries(COUNTS.map((name) => [name, app.stats()[name]])),
      writes: log.writes(),
      started: started.length,
    });
    const before = count();
    // Four times within the grace period: a refused join must not prolong it.
    for (let i = 0; i < 4; i++) {
      refuses = true;
      expect(await request(app, of, key, prepared, by.how)).toBe(by.status);
      refuses = false;
      await turns();
      expect(count()).toEqual(before);
      await vi.advanceTimersByTimeAsync(GRACE / 5);
      await turns();
    }
    await vi.advanceTimersByTimeAsync(GRACE / 4);
    await turns();
    expect(app.stats()).toMatchObject({ streams: 0, channels: 0, readers: 0, timers: 0, logged: 0, places: 0 });
  });
});
