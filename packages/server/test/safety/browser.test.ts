import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { chromium } from "playwright-core";
import { expect, it } from "vitest";

const executablePath = "/usr/bin/chromium";
const absent = !existsSync(executablePath);
if (absent) console.warn(`SKIPPED: hostile pages in a real browser, for want of ${executablePath}`);

it.skipIf(absent)(
  "no hostile page in a real browser reaches the agent: rebound name, form, fetch, socket",
  async () => {
    const done: string[] = [];
    const fold = {
      listAgents: () => {
        done.push("listAgents");
        return [];
      },
      async *send() {
        done.push("send");
        yield { type: "done", full_response: "" };
      },
    } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
    const sockets: BasedHandlers = { session: () => void done.push("session") };
    const server = await listen([serve(foldGateway, fold), serve(based, sockets)], { port: 0, closeAfter: 0 });
    const page = "<!doctype html><title>hostile</title>";
    const hostile = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(page));
    await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve));
    const elsewhere = `http://evil.example:${(hostile.address() as AddressInfo).port}/`;
    const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"];
    args.push("--host-resolver-rules=MAP evil.example 127.0.0.1");
    // Newer browsers also ask the user before a page reaches this machine; the server may not count on that.
    args.push("--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests");
    const browser = await chromium.launch({ executablePath, args });
    try {
      const tab = await browser.newPage();
      const target = `127.0.0.1:${server.port}`;

      // The name was the attacker's when the page was loaded, and is this machine's now: same origin, so no CORS.
      const rebound = `http://evil.example:${server.port}`;
      await tab.route(`${rebound}/`, (route) => route.fulfill({ contentType: "text/html", body: page }));
      await tab.goto(`${rebound}/`);
      expect(await tab.evaluate(() => fetch("/api/agents").then(({ status }) => status))).toBe(403);
      const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"content":"x"}' };
      expect(await tab.evaluate((init) => fetch("/api/send", init).then(({ status }) => status), post)).toBe(403);

      await tab.goto(elsewhere);
      const simple = {
        method: "POST",
        mode: "no-cors",
        headers: { "Content-Type": "text/plain" },
        body: post.body,
      } as const;
      const reach = ({ url, init }: { url: string; init: Record<string, unknown> }) =>
        fetch(url, init).then(
          ({ status }) => status,
          () => "refused",
        );
      // What a page sees of an opaque answer is 0; what counts is that no handler ran.
      expect(await tab.evaluate(reach, { url: `http://${target}/api/send`, init: simple })).toBe(0);
      expect(await tab.evaluate(reach, { url: `http://${target}/api/agents`, init: {} })).toBe("refused");
      const socket = await tab.evaluate(
        (url) =>
          new Promise((resolve) => {
            const opened = new WebSocket(url);
            opened.onopen = () => resolve("open");
            opened.onerror = () => resolve("refused");
          }),
        `ws://${target}/ws`,
      );
      expect(socket).toBe("refused");

      const [answer] = await Promise.all([
        tab.waitForResponse(`http://${target}/api/send`),
        tab.evaluate((url) => {
          document.body.innerHTML = `<form method="post" enctype="text/plain" action="${url}"><input name='{"content":"x","a":"' value='"}'></form>`;
          document.forms[0]!.submit();
        }, `http://${target}/api/send`),
      ]);
      expect(answer.status()).toBe(403);
      expect(done).toEqual([]);
    } finally {
      await browser.close();
      hostile.close();
      await server.close();
    }
  },
  60_000,
);
