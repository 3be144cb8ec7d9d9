import { connect } from "@parlance/client";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, it, onTestFinished } from "vitest";

const session: BasedHandlers["session"] = async (_, channel) => {
  channel.send({ type: "initial_state", files: [], activeFile: null });
  for await (const _ of channel);
};
async function* send({ content }: { readonly content: string }) {
  yield { type: "done" as const, full_response: content };
}

/** What the `url` of a contract may be, and how the app is configured. */
const addresses: readonly (readonly [url: string, options: ServeOptions])[] = [
  ["http://localhost:8080", {}],
  ["https://api.example.com", {}],
  ["https://api.example.com/", {}],
  ["https://api.example.com:8443/v1", {}],
  ["http://10.0.0.7/agents/one/", {}],
  ["http://[fd00::7]:9000", {}],
  ["https://b\u00fccher.example", {}],
  ["https://api.example.com", { hosts: ["api.example.com"] }],
  ["https://api.example.com/v1", { origins: ["https://app.example.com"] }],
];

it.each(addresses)("serves a client of its own process at %s with %j", async (url, options) => {
  const fold = { ...foldGateway, url };
  const app = serve(fold, { health: () => "OK", send }, { ...options, partial: true });
  const gateway = connect(fold, { fetch: app.fetch });
  expect(await gateway.health()).toBe("OK");
  expect(await gateway.send({ content: "hello" }).text()).toBe("hello");
  const channels = serve({ ...based, url }, { session }, options);
  for (const resume of [true, false]) {
    const opened = await connect({ ...based, url }, { ...channels, resume }).session();
    expect((await opened[Symbol.asyncIterator]().next()).value).toMatchObject({ type: "initial_state" });
    await opened.close();
  }
});

it("refuses a request of a network that names the host of the contract's url", async () => {
  const fold = { ...foldGateway, url: "https://api.example.com" };
  const app = serve(fold, { health: () => "OK" }, { partial: true, onError: false });
  const named = new Request("https://api.example.com/health", { headers: { Host: "api.example.com" } });
  expect((await app.fetch(named)).status).toBe(403);
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});

it("serves a contract whose url is not a whole one to a client with a baseUrl", async () => {
  for (const url of ["", "/agent", undefined as unknown as string]) {
    const fold = { ...foldGateway, url };
    const { fetch } = serve(fold, { health: () => "OK" }, { partial: true });
    expect(await connect(fold, { fetch, baseUrl: "http://localhost" }).health()).toBe("OK");
  }
});

it("knows the host of a contract that is not ASCII, however often it was asked", async () => {
  const fold = { ...foldGateway, url: "https://b\u00fccher.example" };
  // `URL.canParse` of Node 20 is wrong once it is optimized.
  for (let i = 0; i < 20_000; i++) URL.canParse(fold.url);
  const app = serve(fold, { health: () => "OK" }, { partial: true });
  expect(await connect(fold, { fetch: app.fetch }).health()).toBe("OK");
});
