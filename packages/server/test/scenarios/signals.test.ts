import { getEventListeners } from "node:events";
import { connect } from "@parlance/client";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { expect, it } from "vitest";

// A registry of the runtime keeps a request's signal, and all that listens to it, for as long as the caller keeps its own.

const fold = {
  health: () => "OK",
  async *send({ content }, { signal }) {
    yield { type: "text", text: content };
    if (content === "wait") await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    yield { type: "done", full_response: content };
  },
} as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
const sockets: BasedHandlers = {
  async session(_, channel) {
    channel.send({ type: "initial_state", files: [], activeFile: null });
    for await (const _ of channel);
  },
};
const app = serve(foldGateway, fold, { grace: 20, tombstoneLife: 20 });
const channels = serve(based, sockets);

const post = (content: unknown, more: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json", ...more },
  body: JSON.stringify({ content }),
});
const resumed = { "Parlance-Resume": "a".repeat(32) };

const requests: readonly (readonly [what: string, path: string, init: RequestInit, end: "read" | "cancel"])[] = [
  ["an operation", "/health", {}, "read"],
  ["a refused request", "/nothing", {}, "read"],
  ["a body that breaks its schema", "/api/send", post(1), "read"],
  ["a stream that is read to its end", "/api/send", post("x"), "read"],
  ["a stream that is cancelled", "/api/send", post("wait"), "cancel"],
  ["a resumable stream that is read to its end", "/api/send", post("x", resumed), "read"],
  ["a resumable stream that is cancelled", "/api/send", post("wait", resumed), "cancel"],
  ["a join of nothing", "/api/send", { headers: { ...resumed, "Last-Event-ID": "e.1" } }, "read"],
];

it.each(requests)("%s leaves no listener on the signal of its request", async (_, path, init, end) => {
  const caller = new AbortController();
  const request = new Request(`http://localhost${path}`, { ...init, signal: caller.signal });
  const answer = await app.fetch(request);
  if (end === "read") await answer.text();
  else await answer.body!.cancel();
  for (let turns = 0; turns < 100 && getEventListeners(request.signal, "abort").length > 0; turns++)
    await new Promise((resolve) => setTimeout(resolve, 1));
  expect(getEventListeners(request.signal, "abort")).toEqual([]);
});

it("a channel leaves no listener on its caller's signal", async () => {
  const caller = new AbortController();
  const client = connect(based, { fetch: channels.fetch, webSocket: channels.webSocket, resume: false });
  const session = await client.session({ signal: caller.signal });
  await session.close();
  for (let turns = 0; turns < 100 && getEventListeners(caller.signal, "abort").length > 0; turns++)
    await new Promise((resolve) => setTimeout(resolve, 1));
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);
});
