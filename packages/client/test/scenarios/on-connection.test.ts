import { type ConnectionEvent, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { listen } from "@parlance/server/node";
import { double } from "@parlance/server/testing";
import { describe, expect, it, onTestFinished } from "vitest";

/** Notes the events, each as its type. */
function noting() {
  const events: ConnectionEvent[] = [];
  return {
    events,
    types: () => events.map(({ type }) => type),
    onConnection: (event: ConnectionEvent) => void events.push(event),
  };
}

const gateway = () =>
  double(foldGateway, {
    async *send() {
      for (const text of ["a", "b", "c"]) yield { type: "text", text };
      yield { type: "done", full_response: "abc" };
    },
  });

describe("onConnection of a stream", () => {
  it("reports a lost connection, each attempt, the join and the end", async () => {
    const app = gateway();
    onTestFinished(() => app.close());
    const { events, types, onConnection } = noting();
    app.cut({ after: 1 });
    const client = connect(foldGateway, { fetch: app.fetch, resume: true, random: () => 0 });
    expect(await client.send({ content: "x" }, { onConnection }).text()).toBe("abc");
    expect(types()).toEqual(["lost", "rejoining", "joined", "ended"]);
    expect(new Set(events.map(({ call }) => call))).toEqual(new Set(["fold-gateway.send"]));
    expect(events[1]).toMatchObject({ attempt: 1, wait: 0, left: 120_000, cause: { name: "Disconnected" } });
    expect(events.at(-1)).toEqual({ call: "fold-gateway.send", type: "ended" });
  });

  it("calls that of the client and that of the call", async () => {
    const app = gateway();
    onTestFinished(() => app.close());
    const [shared, own] = [noting(), noting()];
    const client = connect(foldGateway, { fetch: app.fetch, onConnection: shared.onConnection });
    await client.send({ content: "x" }, { onConnection: own.onConnection }).text();
    await client.send({ content: "x" }).text();
    expect([shared.types(), own.types()]).toEqual([["ended", "ended"], ["ended"]]);
  });

  it("ends with the error, which names the attempts, when the server stays away", async () => {
    const { events, types, onConnection } = noting();
    let asked = 0;
    const beat = { "Content-Type": "text/event-stream", "Parlance-Resume": "e; grace=30; beat=15" };
    const fetch = async (): Promise<Response> => {
      if (asked++ > 0) throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
      return new Response('event: text\nid: e-1\ndata: {"text":"a"}\n\n', { headers: beat });
    };
    const connection = { fetch, resume: true, random: () => 0, reconnectFor: 1000, onConnection };
    const error = await connect(foldGateway, connection)
      .send({ content: "x" })
      .text()
      .catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ name: "Disconnected", cause: { name: "Disconnected" } });
    expect(String(error)).toMatch(/not joined again in \d+ attempts within 1000 ms$/);
    expect(types()[0]).toBe("lost");
    expect(types().filter((type) => type === "rejoining").length).toBeGreaterThan(1);
    expect(events.at(-1)).toEqual({ call: "fold-gateway.send", type: "ended", error });
  });

  it("reports a stream that no server resumes as lost and ended", async () => {
    const { types, onConnection } = noting();
    const fetch = async () => new Response("", { headers: { "Content-Type": "text/event-stream" } });
    const stream = connect(foldGateway, { fetch, resume: false, onConnection }).send({ content: "x" });
    await expect(stream.text()).rejects.toMatchObject({ code: "ended_early" });
    expect(types()).toEqual(["lost", "ended"]);
  });

  it("ends one that is cancelled once, without an error", async () => {
    const app = gateway();
    onTestFinished(() => app.close());
    const { events, onConnection } = noting();
    for await (const _ of connect(foldGateway, { fetch: app.fetch, onConnection }).send({ content: "x" })) break;
    expect(events).toEqual([{ call: "fold-gateway.send", type: "ended" }]);
  });

  it("ends a stream that is opened again once", async () => {
    const { types, onConnection } = noting();
    let opened = 0;
    const left = new AbortController();
    const fetch = async (request: Request): Promise<Response> => {
      if (request.method !== "GET") return new Response(null, { status: 204 });
      opened++;
      const body = 'data: {"type":"agent.state","state":"idle"}\n\n';
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    };
    const client = connect(emacsAgent, { fetch, random: () => 0, onConnection });
    const events = client.events({ session_id: "s" }, { reopen: true, signal: left.signal });
    for await (const _ of events) if (opened === 2) break;
    expect(types()).toEqual(["lost", "rejoining", "joined", "ended"]);
  });
});

describe("onConnection that fails", () => {
  const boom = new Error("boom");
  const ways = {
    throws: (type: string, at: string) => {
      if (type === at) throw boom;
    },
    rejects: async (type: string, at: string) => {
      if (type === at) throw boom;
    },
  };
  const cases = Object.keys(ways).flatMap((way) =>
    ["lost", "rejoining", "joined"].map((at) => [way as keyof typeof ways, at] as const),
  );

  it.each(cases)("and %s at %s ends the stream with its error, and with one `ended`", async (way, at) => {
    const app = gateway();
    onTestFinished(() => app.close());
    const [failing, own] = [noting(), noting()];
    app.cut({ after: 1 });
    const onConnection = (event: ConnectionEvent) => {
      failing.onConnection(event);
      return ways[way](event.type, at);
    };
    const client = connect(foldGateway, { fetch: app.fetch, resume: true, random: () => 0, onConnection });
    const stream = client.send({ content: "x" }, { onConnection: own.onConnection });
    await expect(stream.text()).rejects.toBe(boom);
    expect(failing.events.at(-1)).toEqual({ call: "fold-gateway.send", type: "ended", error: boom });
    expect(failing.types().filter((type) => type === "ended")).toHaveLength(1);
    expect(own.types()).toEqual(failing.types());
  });

  it.each(cases)("and %s at %s ends the channel with its error, and with one `ended`", async (way, at) => {
    const app = double(based);
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const { events, types, onConnection } = noting();
    const session = await connect(based, {
      baseUrl: server.url,
      webSocket,
      random: () => 0,
      onConnection(event) {
        onConnection(event);
        return ways[way](event.type, at);
      },
    }).session();
    await session.ask({ type: "list_files" });
    app.cut();
    await expect(session.closed).rejects.toBe(boom);
    await session.close();
    expect(events.at(-1)).toEqual({ call: "based.session", type: "ended", error: boom });
    expect(types().filter((type) => type === "ended")).toHaveLength(1);
  });
});

it("onConnection reports a request whose answer was lost, and the join", async () => {
  const app = gateway();
  onTestFinished(() => app.close());
  const { types, onConnection } = noting();
  let asked = 0;
  const fetch = async (request: Request): Promise<Response> => {
    const response = await app.fetch(request);
    if (asked++ > 0) return response;
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }) });
  };
  const client = connect(foldGateway, { fetch, resume: true, random: () => 0, retryWaits: [], onConnection });
  expect(await client.send({ content: "x" }).text()).toBe("abc");
  expect(types()).toEqual(["lost", "rejoining", "joined", "ended"]);
});

describe("onConnection of a channel", () => {
  it("reports a lost connection, each attempt, the join and the end", async () => {
    const app = double(based);
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const { types, onConnection } = noting();
    const session = await connect(based, { baseUrl: server.url, webSocket, onConnection }).session();
    await session.ask({ type: "list_files" });
    app.cut();
    expect((await session.ask({ type: "list_files" })).type).toBe("file_list");
    await session.close();
    expect(types().filter((type) => type !== "rejoining")).toEqual(["lost", "joined", "ended"]);
    expect(types()).toContain("rejoining");
  });

  it("reports an error that ends it, and one that keeps it from opening", async () => {
    const { events, onConnection } = noting();
    const failing = connect(based, { webSocket: () => Promise.reject(new Error("no")), resume: false, onConnection });
    const error = await failing.session().catch((thrown: Error) => thrown);
    expect(events).toEqual([{ call: "based.session", type: "ended", error }]);
  });
});
