import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { run } from "./pack.js";

/** A registry of packed packages alone, for `@parlance:registry` in an `.npmrc`. */
export async function serveTarballs(tarballs: readonly string[]) {
  const answers = new Map<string, { readonly type: string; readonly body: string | Buffer }>();
  const server = createServer(({ url }, response) => {
    const answer = answers.get(decodeURIComponent(url!));
    if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": answer.type }).end(answer.body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const path of tarballs) {
    const { stdout } = await run("tar", ["-xzOf", path, "package/package.json"]);
    const { name, version, ...manifest } = JSON.parse(stdout);
    const body = readFileSync(path);
    const integrity = `sha512-${createHash("sha512").update(body).digest("base64")}`;
    const shasum = createHash("sha1").update(body).digest("hex");
    const dist = { tarball: `${url}packed/${basename(path)}`, integrity, shasum };
    const document = {
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { name, version, ...manifest, dist } },
    };
    answers.set(`/packed/${basename(path)}`, { type: "application/octet-stream", body });
    answers.set(`/${name}`, { type: "application/json", body: JSON.stringify(document) });
  }
  return {
    url,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
