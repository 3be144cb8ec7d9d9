import { once } from "node:events";
import { connect } from "node:net";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
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
