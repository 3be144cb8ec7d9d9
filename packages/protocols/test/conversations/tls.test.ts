import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@parlance/client";
import { trust } from "@parlance/client/node";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { type App, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { all } from "./carriers.js";

const present = spawnSync("openssl", ["version"]).status === 0;
if (!present) console.warn("SKIPPED: openssl is not on this machine, so https and wss are not tested");

const apps: readonly App[] = [
  serve(foldGateway, {
    health: () => "OK",
    ready: () => "ready (0 agents)",
    listAgents: () => [],
    async *send({ content }) {
      yield { type: "done", full_response: content };
    },
  }),
  serve(
    loco,
    {
      async stream(_: unknown, channel: { send(message: object): void }) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        channel.send({ type: "assistant.message_final", message: "é" });
      },
    } as never,
    { allowAnonymous: true },
  ),
];

describe.skipIf(!present)("Over https and wss, with a CA of one's own,", () => {
  let folder: string;
  let ca: string;
  let server: Awaited<ReturnType<typeof listen>>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "parlance-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert];
    execFileSync("openssl", [...made, ...subject], { stdio: "ignore" });
    ca = readFileSync(cert, "utf8");
    server = await listen(apps, { port: 0, tls: { key: readFileSync(key), cert: ca }, closeAfter: 0 });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  const open = { client_info: { name: "test", version: "1", capabilities: [] } };

  it("two apps on one port answer by HTTP and on a socket", async () => {
    expect(server.url).toMatch(/^https:/);
    const connection = { baseUrl: server.url, ...trust({ ca }) };
    expect(await connect(foldGateway, connection).health()).toBe("OK");
    expect(await connect(foldGateway, connection).send({ content: "é😀" }).text()).toBe("é😀");
    const channel = await connect(loco, connection).stream({ session_id: "s" }, { open });
    expect((await all(channel)).map(({ type }) => type)).toEqual(["server.hello", "assistant.message_final"]);
    await expect(connect(loco, connection).health()).rejects.toMatchObject({ status: 501, code: "NOT_IMPLEMENTED" });
  });

  it("a client that does not trust the CA is Disconnected, by HTTP and on a socket", async () => {
    const { webSocket } = trust({ ca: [] });
    const refused = { name: "Disconnected", code: "unreachable" };
    await expect(connect(foldGateway, { baseUrl: server.url }).health()).rejects.toMatchObject(refused);
    const stream = connect(loco, { baseUrl: server.url, webSocket }).stream({ session_id: "s" }, { open });
    await expect(stream).rejects.toMatchObject(refused);
  });

  it("a signal ends a request that goes through the CA's own fetch", async () => {
    const client = connect(foldGateway, { baseUrl: server.url, ...trust({ ca }) });
    const reason = new Error("enough");
    await expect(client.send({ content: "x" }, { signal: AbortSignal.abort(reason) }).opened).rejects.toBe(reason);
  });
});
