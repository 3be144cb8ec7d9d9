import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, test } from "vitest";
import { LISTEN_LIMITS } from "../src/limits.js";

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
