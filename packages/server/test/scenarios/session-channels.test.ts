import { type LoCoHandlers, loco } from "@parlance/protocols/loco";
import { type ServeOptions, serve } from "@parlance/server";
import type { Port, PortEvents } from "@parlance/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";

// Channels that read a session, over a socket that a test is.

type Session = { send(message: object): Promise<void>; ask(message: object, options?: object): Promise<unknown> };
const hello = { type: "server.hello", server_info: { version: "1" } } as const;
const final = (message: string) => ({ type: "assistant.message_final", message });
const approval = { type: "tool.request_approval", request_id: "r", tool_name: "t", args: {}, risk_level: "low" };

function serving(options: ServeOptions = {}) {
  let greet = (): void => {};
  let reached: Session | undefined;
  const handlers = {
    async stream(_, channel) {
      greet = () => channel.send(hello);
      for await (const _ of channel);
    },
    deleteSession(_, { session }) {
      reached = session("s") as unknown as Session;
      return { success: true };
    },
  } as Partial<LoCoHandlers> as LoCoHandlers;
  const app = serve(loco, handlers, { allowAnonymous: true, onError: false, ...options });
  onTestFinished(() => app.close());
  const open = async () => {
    const accepted = await app.accept(new Request("http://localhost/v1/sessions/s/stream"), [], app.open());
    if ("refused" in accepted) throw new Error("it is accepted");
    const heard: unknown[] = [];
    let on!: PortEvents;
    const state = { waiting: 0 };
    const port: Port = {
      send: (frame) => void heard.push(JSON.parse(frame).message ?? JSON.parse(frame).type),
      close: (code, reason) => void heard.push([code, reason]),
      cut: () => void heard.push("cut"),
      buffered: () => state.waiting,
      listen: (events) => {
        on = events;
      },
    };
    accepted.run(port);
    await vi.waitFor(() => expect(on).toBeDefined());
    return { heard, state, close: () => on.close(1000, ""), greet: () => greet() };
  };
  const session = async () => {
    const request = new Request("http://localhost/v1/sessions/other", { method: "DELETE" });
    expect((await app.fetch(request)).status).toBe(200);
    return reached!;
  };
  return { app, open, session };
}

describe("A channel of a session", () => {
  test("gets what others send once it is open, and confirms it, so that the next one does not get it", async () => {
    const { open, session } = serving();
    const { send } = await session();
    void send(final("before"));
    const first = await open();
    await vi.waitFor(() => first.greet());
    await vi.waitFor(() => expect(first.heard).toEqual(["server.hello", "before"]));
    void send(final("after"));
    await vi.waitFor(() => expect(first.heard).toEqual(["server.hello", "before", "after"]));
    const second = await open();
    await vi.waitFor(() => second.greet());
    void send(final("both"));
    await vi.waitFor(() => expect(second.heard).toEqual(["server.hello", "both"]));
    expect(first.heard.at(-1)).toBe("both");
    first.close();
    second.close();
  });

  test("that is too far behind is cut, and the others go on", async () => {
    const { open, session } = serving({ maxBuffered: 100, maxQueued: 100 });
    const slow = await open();
    await vi.waitFor(() => slow.greet());
    await vi.waitFor(() => expect(slow.heard).toEqual(["server.hello"]));
    const other = await open();
    await vi.waitFor(() => other.greet());
    await vi.waitFor(() => expect(other.heard).toEqual(["server.hello"]));
    slow.state.waiting = 1000;
    const { send } = await session();
    for (const word of ["1", "2", "3"]) void send(final(word));
    await vi.waitFor(() => expect(other.heard).toEqual(["server.hello", "1", "2", "3"]));
    await vi.waitFor(() => expect(slow.heard.slice(1)).toEqual(["1", "cut"]));
    other.close();
  });

  test("is asked, and told why it is asked no more where another one has answered", async () => {
    const { open, session, app } = serving();
    const one = await open();
    await vi.waitFor(() => one.greet());
    const { ask } = await session();
    const left = new AbortController();
    const asked = ask(approval, { signal: left.signal });
    await vi.waitFor(() => expect(one.heard).toContain("tool.request_approval"));
    expect(app.stats().asks).toBe(1);
    left.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    expect(app.stats().asks).toBe(0);
    one.close();
  });
});
