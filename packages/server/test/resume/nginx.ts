import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = "/usr/sbin/nginx";

export const hasNginx = existsSync(program);
if (!hasNginx) console.warn(`SKIPPED: streams behind nginx, for want of ${program}`);

export interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * An nginx in front of a server, by default with its default configuration; its files are in a folder of its own.
 * `http` is what stands in its `http` block, where `LISTEN` stands for the address.
 */
export async function startNginx(
  upstream: string,
  http = `server { listen LISTEN; location / { proxy_pass ${upstream}; } }`,
): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), "nginx-"));
  const port = await freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const configuration = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http { access_log off; ${paths.join(" ")}
  ${http.replace("LISTEN", `127.0.0.1:${port}`)} }`;
  await writeFile(join(folder, "nginx.conf"), configuration);
  const nginx = spawn(program, ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "ignore" });
  const ended = new Promise((resolve) => nginx.on("exit", resolve));
  const url = `http://127.0.0.1:${port}`;
  for (let up = false; !up; )
    up = await fetch(url).then(
      () => true,
      () => false,
    );
  return {
    url,
    async stop() {
      nginx.kill("SIGQUIT");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
