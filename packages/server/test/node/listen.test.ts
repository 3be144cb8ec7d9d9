import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { get } from "node:https";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, test } from "vitest";
import { LISTEN_LIMITS } from "../../src/limits.js";

/** Seconds that proxies and balancers keep an idle connection to a server by default. */
const KEPT = { nginx: 60, "AWS ALB": 60, Apache: 60, "Traefik and Go": 90, Caddy: 120 };

test.each(Object.entries(KEPT))("an idle connection is kept longer than %s keeps it", (_, seconds) => {
  expect(LISTEN_LIMITS.keepAlive).toBeGreaterThan(seconds * 1000);
});

const handlers = {} as FoldGatewayHandlers;
const at = (port: number) => serve({ ...foldGateway, url: `http://localhost:${port}` }, handlers);

test("each contract names the port of its document, or of the program that it describes", () => {
  const ports = [agentsmithy, based, emacsAgent, foldGateway, loco].map(
    ({ name, url }) => `${name} ${new URL(url).port}`,
  );
  expect(ports).toEqual(["agentsmithy 8765", "based 8000", "emacs-agent 9420", "fold-gateway 8080", "loco 3199"]);
});

test("without a port a server takes its contract's, and never another one", async () => {
  const { port, close } = await listen(at(0), { port: 0, closeAfter: 0 });
  await expect(listen(at(port))).rejects.toMatchObject({
    code: "EADDRINUSE",
    message: `port ${port} is in use: give \`listen\` another \`port\`, or 0 for any free one`,
  });
  await close();
  const again = await listen(at(port), { closeAfter: 0 });
  expect(again.url).toBe(`http://127.0.0.1:${port}`);
  await again.close();
});

test("port 0 takes a free one, whatever the contract says", async () => {
  const one = await listen(at(0), { port: 0, closeAfter: 0 });
  const other = await listen(at(one.port), { port: 0, closeAfter: 0 });
  expect(other.port).not.toBe(one.port);
  await Promise.all([one.close(), other.close()]);
});

test.each([
  [{}, LISTEN_LIMITS.maxConnections, 150_000],
  [{ maxConnections: 7, keepAlive: 620_000 }, 7, 620_000],
])("a server has its limits from the start: %j", async (options, maxConnections, keepAliveTimeout) => {
  const { server, close } = await listen(at(0), { port: 0, closeAfter: 0, ...options });
  expect(server).toMatchObject({
    maxConnections,
    keepAliveTimeout,
    // Counted by the server itself: Node drops those above its own limit.
    maxHeadersCount: 0,
    headersTimeout: LISTEN_LIMITS.headersWithin,
    requestTimeout: LISTEN_LIMITS.requestWithin,
    // A slow request is cut this long after its time at the latest.
    connectionsCheckingInterval: 5000,
  });
  const closed = close();
  expect(close()).toBe(closed);
  await closed;
  expect(server.listening).toBe(false);
});

test.each([[], [22, 3, 1]])("closes a connection that has not finished its TLS handshake: %j", async (...bytes) => {
  const { port, server, close } = await listen(at(0), { port: 0, tls: {}, closeAfter: 1000 });
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume().write(Buffer.from(bytes));
  const over = once(socket, "close");
  await once(server, "connection");
  await close();
  await over;
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

test.skipIf(!hasOpenssl)("lets a call over TLS finish while it closes", async () => {
  const args = ["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const made = execFileSync("openssl", [...args, "-subj", "/CN=localhost", "-keyout", "-", "-out", "-"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pem = String(made);
  let closed: Promise<void> | undefined;
  const health = async () => {
    closed = server.close();
    await once(idle, "close");
    return "OK";
  };
  const app = serve(foldGateway, { health }, { partial: true });
  const server = await listen(app, { port: 0, tls: { key: pem, cert: pem }, closeAfter: 5000 });
  const idle = connectTls({ port: server.port, rejectUnauthorized: false });
  await once(idle.resume(), "secureConnect");
  const asked = get({ port: server.port, path: "/health", rejectUnauthorized: false });
  const [answer] = await once(asked, "response");
  expect(answer.resume().statusCode).toBe(200);
  await closed;
});
