import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import type { Port } from "@parlance/wire";
import { expect, it } from "vitest";

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
        { log, pubSub },
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
