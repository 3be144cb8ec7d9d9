import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { handler, upgrade } from "@parlance/server/node";
import { build } from "esbuild";
import { chromium, type Page } from "playwright-core";
import { expect } from "vitest";

const CHROMIUM = "/usr/bin/chromium";
export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser) console.warn(`SKIPPED: the hooks of React were not driven, because there is no ${CHROMIUM}.`);

/** A page in Chromium, and the server of its script and its apps. */
export interface Opened {
  readonly page: Page;
  /** Cuts all connections. */
  readonly cut: () => void;
  /** Also fails when the page has thrown an error. */
  readonly close: () => Promise<void>;
}

/** Bundles a script from the sources, and opens a page with it. `alias` replaces packages. */
export async function openPage(
  script: URL,
  apps: Parameters<typeof handler>[0],
  alias: Record<string, string> = {},
): Promise<Opened> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(script)],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    define: { "process.env.NODE_ENV": '"development"' },
    alias,
    logLevel: "error",
  });
  const files: Record<string, [type: string, body: string]> = {
    "/": ["text/html", '<div id="root"></div><script type="module" src="page.js"></script>'],
    "/page.js": ["text/javascript", outputFiles[0]!.text],
  };
  const answer = handler(apps);
  const server = createServer((incoming, outgoing) => {
    const file = files[incoming.url ?? ""];
    if (file) outgoing.writeHead(200, { "Content-Type": file[0] }).end(file[1]);
    else answer(incoming, outgoing);
  });
  server.on("upgrade", upgrade(apps));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  async function close(): Promise<void> {
    await browser.close();
    server.close();
    cut();
    expect(problems).toEqual([]);
  }
  return { page, cut, close };
}
