import { once } from "node:events";
import { connect } from "node:net";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { RESUME } from "@parlance/wire";
import { expect, onTestFinished, test } from "vitest";

test.each([
  ["close, Upgrade", true],
  ["Upgrade, HTTP2-Settings", false],
  ["upgrade , keep-alive", false],
])(
  "a request for another protocol is answered as a plain one, with what else its Connection header has: %s",
  async (value, closes) => {
    const app = serve(foldGateway, { health: () => "OK" } as never, { partial: true } as never);
    const server = await listen(app as never, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const socket = connect(server.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const head = `GET /health HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nConnection: ${value}\r\n\r\n`;
    socket.write(head);
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    while (!text.endsWith("OK")) await once(socket, "data");
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(/^connection: (.*)\r$/im.exec(text)?.[1]).toBe(closes ? "close" : "keep-alive");
  },
);

test.each(["", "short", "0".repeat(31), "G".repeat(32)])(
  "a GET of a channel with the key %j, which is none, is answered as one without a key",
  async (key) => {
    const app = serve(based, { session: async () => {} });
    const { status, headers } = await app.fetch(new Request("http://localhost/ws", { headers: { [RESUME]: key } }));
    expect([status, headers.get(RESUME)]).toEqual([426, null]);
    await app.close();
  },
);
