import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import type { Port } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { run } from "./child.js";

/** A socket that is cut instead of confirming a close. */
function unconfirming(port: Port): Port {
  let events: Parameters<Port["listen"]>[0];
  return {
    ...port,
    listen(on) {
      events = on;
      port.listen({ frame: on.frame, close() {} });
    },
    close(code, reason) {
      port.close(code, reason);
      queueMicrotask(() => events.close(1006, ""));
    },
  };
}

it.each([1, 2])(
  "a close whose confirmation is lost is confirmed again, and no message that arrived counts as unconfirmed (%i servers)",
  async (count) => {
    const [log, pubSub] = [memoryLog(), memoryPubSub()];
    const received: string[] = [];
    const servers = Array.from({ length: count }, () =>
      serve(
        based,
        {
          async session(_, channel) {
            channel.send({ type: "initial_state", files: [], activeFile: null });
            for await (const message of channel) if (message.type === "upload_file") received.push(message.filename);
          },
        },
        { log, cluster: clusterOn(pubSub) },
      ),
    );
    let asked = 0;
    let sockets = 0;
    const client = connect(based, {
      random: () => 0,
      // Each time another server.
      fetch: (request) => servers[asked++ % count]!.fetch(request),
      async webSocket(url, init) {
        const port = await servers[sockets % count]!.webSocket(url, init);
        return sockets++ === 0 && !("refused" in port) ? unconfirming(port) : port;
      },
    });
    const session = await client.session();
    const [first] = [await session[Symbol.asyncIterator]().next()];
    expect(first.value).toMatchObject({ type: "initial_state" });
    session.send({ type: "upload_file", filename: "1", content: "" });
    session.send({ type: "upload_file", filename: "2", content: "" });
    await session.close();
    expect(await session.closed).toMatchObject({ code: 1000 });
    expect(received).toEqual(["1", "2"]);
    for (const server of servers) expect(server.stats()).toMatchObject({ calls: 0, channels: 0, places: 0 });
  },
);

describe("an app that closes", () => {
  /** A stream that is open, in an app whose log and pub/sub answer when `answer` is called. */
  async function open() {
    const [log, shared] = [memoryLog(), memoryPubSub()];
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const told: string[] = [];
    const app = serve(foldGateway, handlers, {
      storeWithin: 20,
      log: {
        ...log,
        async open(stream) {
          const writer = (await log.open(stream))!;
          const close = async () => {
            await answered;
            told.push("log");
            return writer.close();
          };
          return { ...writer, append: (...entries) => writer.append(...entries), close };
        },
      },
      cluster: clusterOn({
        subscribe: shared.subscribe,
        async publish(topic, text) {
          if (JSON.parse(text).type !== "bye") return shared.publish(topic, text);
          await answered;
          told.push("pub/sub");
          return 0;
        },
      }),
    });
    const reader = connect(foldGateway, { fetch: app.fetch }).send({ content: "x" })[Symbol.asyncIterator]();
    await reader.next();
    return { app, answer, told };
  }
  const handlers = {
    async *send(_: unknown, { signal }: { signal: AbortSignal }) {
      yield { type: "text", text: "one" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  } as unknown as FoldGatewayHandlers;

  it("waits until its log and pub/sub know, so that they can be stopped", async () => {
    const { app, answer, told } = await open();
    const closed = app.close();
    answer();
    await closed;
    expect(told.sort()).toEqual(["log", "pub/sub"]);
  });

  it("waits no longer than its limit", async () => {
    const { app, answer, told } = await open();
    await app.close();
    expect(told).toEqual([]);
    answer();
  });

  it("keeps its process alive until its limit", async () => {
    expect(await run(new URL("./hanging-log.ts", import.meta.url)).line()).toBe("closed");
  });
});
