import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { loco } from "@parlance/protocols/loco";
import { bearer } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { double } from "@parlance/server/testing";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { expect, it } from "vitest";

const executablePath = "/usr/bin/chromium";
const absent = !existsSync(executablePath);
if (absent) console.warn(`SKIPPED: a socket to another origin in a real browser, for want of ${executablePath}`);

/** A page's program: opens a loco channel, with no more options than an address and a token. */
const program = `
  import { connect } from "../src/index.ts";
  import { loco } from "../../protocols/src/loco.ts";
  globalThis.hear = async (baseUrl, token) => {
    try {
      const client_info = { name: "page", version: "0", capabilities: [] };
      const session = await connect(loco, { baseUrl, token }).stream({ session_id: "s" }, { open: { client_info } });
      for await (const { type } of session) return type;
    } catch ({ code, message }) {
      return { code, message };
    }
  };`;

it.skipIf(absent)(
  "a page of a listed origin opens a channel with a token by default; one of another gets an error that names the option",
  async () => {
    const { outputFiles } = await build({
      stdin: { contents: program, resolveDir: fileURLToPath(new URL("..", import.meta.url)) },
      bundle: true,
      write: false,
      format: "iife",
      target: "es2022",
      tsconfig: fileURLToPath(new URL("../../../../tsconfig.json", import.meta.url)),
      logLevel: "silent",
    });
    const pages = createServer((_, response) =>
      response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>"),
    );
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
    const { port } = pages.address() as AddressInfo;
    const listed = `http://127.0.0.1:${port}`;
    const options = { authenticate: bearer({ secret: "user" }), origins: [listed], onError: false } as const;
    const server = await listen(double(loco, {}, options), { port: 0, closeAfter: 0 });
    const browser = await chromium.launch({
      executablePath,
      args: ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"],
    });
    try {
      const heard: unknown[] = [];
      for (const origin of [listed, `http://localhost:${port}`]) {
        const tab = await browser.newPage();
        await tab.goto(origin);
        await tab.addScriptTag({ content: outputFiles[0]!.text });
        heard.push(
          await tab.evaluate(
            (url) => (globalThis as unknown as { hear(...of: string[]): Promise<unknown> }).hear(url, "secret"),
            server.url,
          ),
        );
      }
      expect(heard).toEqual([
        "server.hello",
        { code: "unreachable", message: expect.stringContaining("add it to the server's `origins`") },
      ]);
    } finally {
      await browser.close();
      pages.close();
      await server.close();
    }
  },
  60_000,
);
