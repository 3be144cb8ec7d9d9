import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { WebSocketServer } from "ws";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const run = promisify(execFile);

/** An extension that starts, and then opens a socket. */
const contents = `
  import { connect } from "@parlance/client";
  import { trust, webSocket } from "@parlance/client/node";
  console.log(typeof connect, typeof trust);
  const init = { headers: {}, protocols: [], maxSize: 1000 };
  webSocket(process.argv[2], init).then(
    (port) => console.log("open") ?? process.exit(),
    (error) => console.log(error.code, error.message),
  );`;
const require = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

it.each([
  ["cjs", "", "open"],
  ["esm", require, "open"],
  // It starts, and says what the bundle lacks.
  ["esm", "", /^usage the package ws could not be loaded: .* docs\/vscode\.md$/],
] as const)(
  "an extension bundled as %s with the banner %j starts, and opens its socket or says why not",
  async (format, js, said) => {
    const folder = mkdtempSync(join(tmpdir(), "parlance-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const outfile = join(folder, format === "cjs" ? "extension.cjs" : "extension.mjs");
    await build({
      stdin: { contents, resolveDir: join(root, "packages/client") },
      tsconfig: join(root, "tsconfig.json"),
      bundle: true,
      platform: "node",
      target: "node20",
      format,
      banner: { js },
      outfile,
      logLevel: "error",
    });
    const server = createServer();
    new WebSocketServer({ server });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { stdout } = await run(process.execPath, [
      outfile,
      `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ]);
    const [started, outcome] = stdout.trim().split("\n");
    expect(started).toBe("function function");
    expect(outcome).toMatch(said);
  },
);
