import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { Refusal, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { newKey, type OpenSocket, type Port, RESUME } from "@parlance/wire";
import { expect, it, onTestFinished, vi } from "vitest";
import { fixture, newLedger } from "./conversations.js";
import { texts } from "./run-conversation.js";

// A proxy may bring the copy of a request before the request itself: both are read, and the handler runs once.
it.each([1, 2])(
  "each copy of a POST is answered with the same stream, which is begun once (%i servers)",
  async (count) => {
    const [log, ledger, tag] = [memoryLog(), newLedger(), `copied${count}-40`];
    const stages = await Promise.all(Array.from({ length: count }, () => fixture({ log }, {}, ledger)));
    onTestFinished(async () => {
      for (const { server } of stages) await server.close();
    });
    const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
    const body = JSON.stringify({ content: tag });
    const answers = await Promise.all(
      [0, 1, 2, 3].map(async (i) => {
        const { memory } = stages[i % count]!;
        const response = await memory.fetch(
          new Request(`${memory.baseUrl}/api/send`, { method: "POST", headers, body }),
        );
        return { status: response.status, text: await response.text() };
      }),
    );
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text.match(/copied\d-40:\d+/g)).toEqual(texts(tag));
    }
    expect(ledger.begun.get(tag)).toBe(1);
  },
);

it.each(
  [1, 2].flatMap((count) =>
    [
      { with: "with a status", status: 503, refusal: () => new Refusal("busy", { status: 503, retryAfter: 7 }) },
      { with: "by an error", status: 500, refusal: () => new Error("broken") },
    ].map((how) => ({ count, ...how })),
  ),
)("each copy of a POST that the handler refuses $with gets the same refusal ($count servers)", async (how) => {
  const [log, pubSub] = [memoryLog(), memoryPubSub()];
  let begun = 0;
  let refuse = (_: unknown): void => {};
  const refusing = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const handlers = {
    send() {
      begun++;
      return refusing;
    },
  } as unknown as FoldGatewayHandlers;
  const apps = Array.from({ length: how.count }, () =>
    serve(foldGateway, handlers, { log, cluster: clusterOn(pubSub), onError: false }),
  );
  const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
  const post = { method: "POST", headers, body: '{"content":"x"}' };
  const answers = [0, 1, 2, 3].map(async (i) => {
    const response = await apps[i % how.count]!.fetch(new Request("http://localhost/api/send", post));
    return { status: response.status, after: response.headers.get("Retry-After"), text: await response.text() };
  });
  // All of them wait for the handler.
  await vi.waitFor(() => expect(apps.reduce((sum, app) => sum + app.stats().readers, 0)).toBe(3));
  refuse(how.refusal());
  const [first, ...copies] = await Promise.all(answers);
  expect(first!.status).toBe(how.status);
  expect(copies).toEqual([first, first, first]);
  expect(begun).toBe(1);
});

/** Two servers of channels that say how often they were begun, and what they were sent. */
function channels() {
  const pubSub = memoryPubSub();
  const seen = { begun: 0, heard: [] as string[] };
  const apps = [0, 1].map(() =>
    serve(
      based,
      {
        async session(_, channel) {
          seen.begun++;
          const greet = async () => channel.send({ type: "initial_state", files: [], activeFile: null });
          // A client that has closed already is heard all the same.
          await greet().catch(() => {});
          for await (const message of channel) {
            if (message.type !== "upload_file") continue;
            seen.heard.push(message.filename);
            channel.send({ type: "file_uploaded", filename: message.filename, files: [] });
          }
        },
      },
      { cluster: clusterOn(pubSub), grace: 200, onError: false },
    ),
  ) as [ReturnType<typeof serve>, ReturnType<typeof serve>];
  onTestFinished(() => {
    for (const app of apps) app.close();
  });
  return { apps, seen };
}

it.each(["before its first answer", "after its answers", "with its close"])(
  "a copy of a channel's whole connection that reaches another server %s begins nothing there",
  async (when) => {
    const { apps, seen } = channels();
    let opening: Parameters<OpenSocket> | undefined;
    const sent: string[] = [];
    const webSocket: OpenSocket = async (...args) => {
      opening = args;
      const port = await apps[0].webSocket(...args);
      if ("refused" in port) return port;
      const send = (frame: string) => {
        sent.push(frame);
        port.send(frame);
      };
      return { ...port, send, listen: (on) => port.listen(on), close: (code, reason) => port.close(code, reason) };
    };
    const session = await connect(based, { fetch: apps[0].fetch, webSocket, random: () => 0 }).session();
    const say = (filename: string) => session.ask({ type: "upload_file", filename, content: "" });
    const first = say("1");
    const early = [...sent];
    await first;
    await say("2");
    const copied = when === "before its first answer" ? early : sent;
    expect(copied.length).toBeGreaterThan(0);
    const copy = (await apps[1].webSocket(...opening!)) as Port;
    copy.listen({ frame() {}, close() {} });
    for (const frame of copied) copy.send(frame);
    if (when === "with its close") copy.close(1000, "");
    else copy.close(1006, "");
    await say("3");
    await session.close();
    await vi.waitFor(() => expect(apps.map((app) => app.stats().channels)).toEqual([0, 0]));
    expect(seen).toEqual({ begun: 1, heard: ["1", "2", "3"] });
  },
);

it("a channel that its client closes before the server's first frame still gets its messages", async () => {
  const { apps, seen } = channels();
  const headers = { [RESUME]: newKey() };
  const port = (await apps[0].webSocket("ws://localhost/ws", { headers, protocols: [], maxSize: 1e6 })) as Port;
  port.send('{"action":"upload_file","filename":"last","content":""}');
  port.close(1000, "");
  await vi.waitFor(() => expect(seen).toEqual({ begun: 1, heard: ["last"] }));
});
