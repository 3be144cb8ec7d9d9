import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@parlance/client";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, it } from "vitest";

const program = "/usr/sbin/nginx";
const absent = !existsSync(program);
if (absent) console.warn(`SKIPPED: a stream behind nginx, for want of ${program}`);

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

it.skipIf(absent)(
  "behind nginx with its defaults the first event is not held back until the second",
  async () => {
    let go = () => {};
    const handlers = {
      async *send() {
        yield { type: "text", text: "one" };
        await new Promise<void>((resolve) => {
          go = resolve;
        });
        yield { type: "done", full_response: "one" };
      },
    } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
    const server = await listen(serve(foldGateway, handlers), { closeAfter: 0 });
    const folder = await mkdtemp(join(tmpdir(), "nginx-"));
    const port = await freePort();
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const configuration = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http { access_log off; ${paths.join(" ")}
  server { listen 127.0.0.1:${port}; location / { proxy_pass ${server.url}; } } }`;
    await writeFile(join(folder, "nginx.conf"), configuration);
    const nginx = spawn(program, ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "ignore" });
    try {
      const baseUrl = `http://127.0.0.1:${port}`;
      const client = connect(foldGateway, { baseUrl });
      for (;;)
        if (
          await fetch(baseUrl).then(
            () => true,
            () => false,
          )
        )
          break;
      const start = performance.now();
      const reader = client.send({ content: "x" })[Symbol.asyncIterator]();
      // The second is said only once the first was read: held back, this never ends.
      expect((await reader.next()).value).toEqual({ type: "text", text: "one" });
      console.log(`first event through nginx: ${(performance.now() - start).toFixed(1)} ms`);
      go();
      expect((await reader.next()).value).toMatchObject({ type: "done" });
      await reader.return?.();
    } finally {
      const ended = new Promise((resolve) => nginx.on("exit", resolve));
      nginx.kill("SIGQUIT");
      await ended;
      await server.close();
      await rm(folder, { recursive: true });
    }
  },
  30_000,
);
