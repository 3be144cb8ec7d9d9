import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createPlainServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ConnectOptions, connect } from "@parlance/client";
import { trust, webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { CAUSES, causeOf } from "../src/causes.js";

// Each row of the table of causes, with a real server that has the fault.

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (!hasOpenssl) console.warn("SKIPPED: openssl is not on this machine, so faults of TLS are not tested");
const executablePath = "/usr/bin/chromium";
const hasChromium = existsSync(executablePath);
if (!hasChromium) console.warn(`SKIPPED: a page that may not ask, for want of ${executablePath}`);

const folder = mkdtempSync(join(tmpdir(), "parlance-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server with a certificate of its own. */
async function secured(name: string, days: number): Promise<{ port: number; cert: string }> {
  const [key, asked, made] = ["key", "csr", "pem"].map((end) => join(folder, `${name}${days}.${end}`)) as [
    string,
    string,
    string,
  ];
  const request = [
    "req",
    "-new",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-keyout",
    key,
    "-out",
    asked,
  ];
  execFileSync("openssl", [...request, "-subj", `/CN=${name}`], { stdio: "ignore" });
  const sign = ["x509", "-req", "-in", asked, "-signkey", key, "-days", String(days), "-out", made];
  execFileSync("openssl", sign, { stdio: "ignore" });
  const cert = readFileSync(made, "utf8");
  const server = createSecureServer({ key: readFileSync(key), cert }, (_, answer) => answer.end("OK"));
  server.on("tlsClientError", () => {});
  return { port: await listening(server), cert };
}

/** A server that answers everything so. */
async function answering(status: number, type: string, body: string): Promise<ConnectOptions> {
  const answer = createServer((_, response) => response.writeHead(status, { "Content-Type": type }).end(body));
  answer.on("upgrade", (_, socket) =>
    socket.end(`HTTP/1.1 ${status} No\r\nContent-Type: ${type}\r\nContent-Length: 0\r\n\r\n`),
  );
  return { baseUrl: `http://127.0.0.1:${await listening(answer)}` };
}

async function closedPort(): Promise<ConnectOptions> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return { baseUrl: `http://127.0.0.1:${port}` };
}

const unreachable = { name: "Disconnected", code: "unreachable" };
type Case = readonly [cause: string, connection: () => Promise<ConnectOptions>, error: object];
const cases: readonly Case[] = [
  ["nothing listens there", closedPort, unreachable],
  ["the host name is not known", async () => ({ baseUrl: "http://no-such-host.invalid" }), unreachable],
  ["no connection was made", async () => ({ baseUrl: "http://[2001:db8::1]" }), unreachable],
  [
    "it does not speak TLS",
    async () => ({ baseUrl: (await answering(200, "text/plain", "OK")).baseUrl!.replace("http:", "https:") }),
    unreachable,
  ],
  [
    "it does not speak HTTP",
    async () => {
      const port = await listening(createPlainServer((socket) => void socket.end("SSH-2.0-x\r\n")));
      return { baseUrl: `http://127.0.0.1:${port}` };
    },
    unreachable,
  ],
  ["no `token` was given", () => answering(401, "application/json", "{}"), { name: "Refusal", code: "status_401" }],
  [
    "the server wants a WebSocket",
    () => answering(426, "application/json", "{}"),
    { name: "Refusal", code: "status_426" },
  ],
  ["this is a web page", () => answering(502, "text/html", "<h1>Bad Gateway"), { name: "Refusal", code: "status_502" }],
  ["this is a web page", () => answering(200, "text/html", "<h1>Welcome"), { name: "Violation", code: "content_type" }],
];
const tlsCases: readonly Case[] = [
  [
    "its certificate is for another name",
    async () => {
      const { port, cert } = await secured("elsewhere.example", 2);
      return { baseUrl: `https://localhost:${port}`, ...trust({ ca: cert }) };
    },
    unreachable,
  ],
  [
    "its certificate has expired",
    async () => {
      const { port, cert } = await secured("localhost", -1);
      return { baseUrl: `https://localhost:${port}`, ...trust({ ca: cert }) };
    },
    unreachable,
  ],
  [
    "its certificate is not trusted",
    async () => ({ baseUrl: `https://localhost:${(await secured("localhost", 3)).port}`, webSocket }),
    unreachable,
  ],
  [
    "the connection was closed without an answer",
    async () => ({ baseUrl: `http://localhost:${(await secured("localhost", 4)).port}`, webSocket }),
    unreachable,
  ],
];

function saysOf(cause: string): string {
  return CAUSES.find(({ says }) => says.startsWith(cause))!.says;
}

it.concurrent.each([...cases, ...(hasOpenssl ? tlsCases : [])])(
  "%s: the error of an operation and of a channel says so, and what to do",
  async (cause, connection, expected) => {
    const options = { webSocket, ...(await connection()), retryWaits: [] };
    const message = expect.stringContaining(saysOf(cause));
    await expect(connect(foldGateway, options).listAgents()).rejects.toMatchObject({ ...expected, message });
    // A socket that is answered with a page has no content type to be known by.
    if (cause === "this is a web page") return;
    const session = connect(based, { ...options, resume: false }).session();
    await expect(session).rejects.toMatchObject({ ...expected, message });
  },
);

it.skipIf(!hasChromium)(
  "a refused origin: the error in a browser names the origins that the server allows",
  async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `
        import { connect } from "../src/index.ts";
        import { foldGateway } from "../../protocols/src/fold-gateway.ts";
        globalThis.ask = (baseUrl) => connect(foldGateway, { baseUrl }).listAgents().catch(({ code, message }) => ({ code, message }));`,
        resolveDir: fileURLToPath(new URL(".", import.meta.url)),
      },
      bundle: true,
      write: false,
      format: "iife",
      target: "es2022",
      tsconfig: fileURLToPath(new URL("../../../tsconfig.json", import.meta.url)),
      logLevel: "silent",
    });
    const page = await answering(200, "text/html", "<!doctype html>");
    const server = await answering(200, "application/json", "[]");
    const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"];
    const browser = await chromium.launch({ executablePath, args });
    try {
      const tab = await browser.newPage();
      await tab.goto(page.baseUrl!);
      await tab.addScriptTag({ content: outputFiles[0]!.text });
      const asked = await tab.evaluate(
        (url) => (globalThis as unknown as { ask(url: string): Promise<unknown> }).ask(url),
        server.baseUrl!,
      );
      expect(asked).toEqual({
        code: "unreachable",
        message: expect.stringContaining(saysOf("the runtime does not say why")),
      });
    } finally {
      await browser.close();
    }
  },
);

it("every cause of the table has a server with its fault here", () => {
  const tested = [...cases, ...tlsCases].map(([cause]) => cause);
  // Redirects need a POST in a page: fetches.test.ts.
  const all = new Set([...tested, "the runtime does not say why", "the request was redirected there"].map(saysOf));
  expect([...all].sort()).toEqual(CAUSES.map(({ says }) => says).sort());
});

const client = (options: ConnectOptions) => connect(foldGateway, options);
it.each<[what: string, mistake: () => unknown, message: RegExp]>([
  [
    "a baseUrl without a scheme",
    () => client({ baseUrl: "localhost:8080" }),
    /add http:\/\/ to baseUrl "localhost:8080"/,
  ],
  ["a WebSocket's baseUrl", () => client({ baseUrl: "ws://localhost" }), /add http:\/\//],
  ["a header that no request can carry", () => client({ headers: { "X-Y": "é€" } }).health(), /ByteString|header/],
  [
    "a body on GET",
    () => {
      const { health } = foldGateway.operations as unknown as Record<string, object>;
      const operations = { ...foldGateway.operations, health: { ...health, body: "Body", parameters: {} } };
      return (connect({ ...foldGateway, operations } as never) as { health(input: object): unknown }).health({ a: 1 });
    },
    /GET.*body/,
  ],
])("%s is a TypeError with the code `usage` that says what to do", async (_, mistake, message) => {
  const failed = (async () => mistake())();
  await expect(failed).rejects.toMatchObject({
    name: "TypeError",
    code: "usage",
    message: expect.stringMatching(message),
  });
});

it.each([{}, undefined, "http://localhost"])(
  "connect(%j) throws at once, and says that it needs a contract",
  (wrong) => {
    expect(() => connect(wrong as never)).toThrow("connect needs a contract, such as");
  },
);

it.each([
  ["AbortController", () => AbortSignal.abort(), "AbortError"],
  ["AbortSignal.timeout", () => AbortSignal.timeout(1), "TimeoutError"],
])("the error of %s has a string for its code, and is the signal's own reason", async (_, make, code) => {
  const signal = make();
  const fetch = () => new Promise<never>(() => {});
  const calls = [
    () => connect(foldGateway, { fetch }).health({ signal }),
    () => connect(foldGateway, { fetch }).send({ content: "x" }, { signal }).text(),
    () => connect(based, { fetch }).session({ signal }),
  ];
  for (const call of calls) {
    const error = await call().catch((error: unknown) => error);
    expect(error).toBe(signal.reason);
    expect(error).toMatchObject({ code });
  }
});

it("a cause is found up to four errors below the failure, and errors that cause each other have an end", () => {
  const nested = (depth: number): object =>
    depth === 0 ? { code: "ECONNREFUSED" } : { message: "failed", cause: nested(depth - 1) };
  const says = (cause: object) => causeOf({ cause, address: "http://x" }).says;
  for (const depth of [0, 1, 4]) expect(says(nested(depth))).toContain("nothing listens there");
  expect(says(nested(5))).toBe("");
  const unsent = [4, 5].map((depth) => causeOf({ cause: nested(depth) }).unsent);
  expect(unsent).toEqual([true, false]);
  const round: { cause?: object } = {};
  round.cause = { errors: [round] };
  expect(says(round)).toBe("");
});
