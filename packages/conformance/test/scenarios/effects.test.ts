import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { expect, onTestFinished, test } from "vitest";
import { suiteOf } from "../../src/cases.js";
import { runCases } from "../../src/node/run.js";

const schemas = fileURLToPath(new URL("../../../../schemas/", import.meta.url));
const contracts = readdirSync(schemas).filter((name) => existsSync(`${schemas}${name}/contract.json`));

/** A server that checks nothing, as most do: it acts on whatever reaches it, and counts that. */
async function lenient() {
  let effects = 0;
  const server = createServer((request, response) => {
    if (request.method !== "GET") effects++;
    request.resume();
    response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  });
  server.on("upgrade", (_, socket) => {
    effects++;
    socket.on("error", () => {});
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { peer: { url: `http://127.0.0.1:${port}`, close: async () => {} }, effects: () => effects };
}

test.each(contracts)(
  "no case of %s has an effect on a live server without --allow-writes",
  async (name) => {
    const suite = await suiteOf(await load(`${schemas}${name}`), contractValue);
    const { peer, effects } = await lenient();
    const results = await runCases(suite, suite.server, { server: peer, wait: 2000 });
    expect(results.some(({ outcome }) => outcome !== "skipped")).toBe(true);
    expect(effects()).toBe(0);
    // The same server acts on what is sent with leave.
    const [write] = suite.server.filter(({ id }) => results.find((one) => one.id === id)?.reason?.includes("effect"));
    await runCases(suite, [write!], { server: peer, wait: 2000, allowWrites: true });
    expect(effects()).toBe(1);
  },
  60_000,
);
