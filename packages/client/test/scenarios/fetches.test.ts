import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { type ConnectOptions, connect } from "@parlance/client";
import { trust } from "@parlance/client/node";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import nodeFetch from "node-fetch";
import { fetch as undiciFetch } from "undici";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";

afterEach(() => void vi.unstubAllGlobals());

type Fetch = NonNullable<ConnectOptions["fetch"]>;

/** As React Native answers: a whole text, and no body. */
const bodiless: Fetch = async (request) => {
  const { status, ok, headers, url, ...answer } = await globalThis.fetch(request).then(async (found) => ({
    ...{ status: found.status, ok: found.ok, headers: found.headers, url: found.url },
    bytes: await found.arrayBuffer(),
  }));
  return { status, ok, headers, url, arrayBuffer: async () => answer.bytes } as Response;
};
const textOnly: Fetch = async (request) => {
  const { arrayBuffer, ...answer } = (await bodiless(request)) as Response;
  return { ...answer, text: async () => new TextDecoder().decode(await arrayBuffer()) } as Response;
};

const FETCHES: Readonly<Record<string, { readonly fetch?: Fetch; readonly streams: boolean }>> = {
  "the global one": { streams: true },
  "a wrapper of a Request": { fetch: (request) => globalThis.fetch(request), streams: true },
  "a wrapper of both parameters": { fetch: (request, init) => globalThis.fetch(request, init), streams: true },
  "a wrapper of the address": { fetch: (request, init) => globalThis.fetch(String(request), init), streams: true },
  "that of undici 7": { fetch: undiciFetch as unknown as Fetch, streams: true },
  "that of node-fetch": { fetch: nodeFetch as unknown as Fetch, streams: true },
  "that of trust": { fetch: trust({ ca: [] }).fetch, streams: true },
  "one without bodies, as React Native's": { fetch: bodiless, streams: false },
  "one that gives texts": { fetch: textOnly, streams: false },
};

async function serving() {
  const app = serve(
    foldGateway,
    {
      health: () => "OK",
      listAgents: () => [],
      async *send({ content }, { request }) {
        if (content === "never") await new Promise(() => {});
        yield { type: "text", text: `${content} ${request.headers.get("X-Own")}` };
        yield { type: "done", full_response: "" };
      },
    },
    { partial: true },
  );
  const server = await listen(app, { port: 0 });
  onTestFinished(() => server.close());
  return server.url;
}

describe.each(Object.entries(FETCHES))("With a fetch that is %s, a client", (_, { fetch, streams }) => {
  const client = (baseUrl: string) => connect(foldGateway, { baseUrl, fetch, headers: { "X-Own": "own" } });

  it("calls operations", async () => {
    const { health, listAgents } = client(await serving());
    expect([await health(), await listAgents()]).toEqual(["OK", []]);
  });

  it("is refused with the server's own text", async () => {
    await expect(client(await serving()).ready()).rejects.toMatchObject({ name: "Refusal", status: 501 });
  });

  it(streams ? "streams" : "fails a stream with what is missing", async () => {
    const text = client(await serving())
      .send({ content: "hello" })
      .text();
    if (streams) expect(await text).toBe("hello own");
    else await expect(text).rejects.toMatchObject({ code: "usage", message: expect.stringContaining("`body`") });
  });

  it("ends a stream that is left", async () => {
    const controller = new AbortController();
    const sent = client(await serving()).send({ content: "never" }, { signal: controller.signal });
    controller.abort();
    await expect(sent.text()).rejects.toBe(controller.signal.reason);
  });
});

/** A server that redirects everything but its own paths. */
async function redirecting(status: number, to: string) {
  const methods: string[] = [];
  const server = createServer(({ method = "", url = "" }, response) => {
    methods.push(method);
    response.writeHead(status, { Location: `${to}${url}` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { methods, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe.each([301, 302, 303, 307, 308])("A redirect by %d", (status) => {
  const keeps = status > 303;

  it.each(Object.entries(FETCHES).filter(([, { streams }]) => streams))(
    "of a GET is followed by a fetch that is %s",
    async (_, { fetch }) => {
      const { baseUrl } = await redirecting(status, await serving());
      expect(await connect(foldGateway, { baseUrl, fetch }).health()).toBe("OK");
    },
  );

  it.each(Object.entries(FETCHES).filter(([, { streams }]) => streams))(
    `of a POST is ${keeps ? "followed" : "named"} by a fetch that is %s`,
    async (_, { fetch }) => {
      const there = await serving();
      const { baseUrl, methods } = await redirecting(status, there);
      const text = connect(foldGateway, { baseUrl, fetch, headers: { "X-Own": "own" } })
        .send({ content: "hello" })
        .text();
      if (keeps) expect(await text).toBe("hello own");
      else
        await expect(text).rejects.toMatchObject({
          name: "Refusal",
          status,
          message: expect.stringContaining(`was redirected (${status}) to ${there}/api/send`),
        });
      expect(methods).toEqual(["POST"]);
    },
  );

  it(`of a POST is ${keeps ? "followed" : "named"} in a page, where fetch follows it`, async () => {
    const { baseUrl } = await redirecting(status, await serving());
    vi.stubGlobal("location", new URL(baseUrl));
    const text = connect(foldGateway, { baseUrl }).send({ content: "hello" }).text();
    if (keeps) expect(await text).toBe("hello null");
    else await expect(text).rejects.toThrow(/the request was redirected there. A 301, 302 or 303 makes a POST a GET/);
  });
});

describe("A redirect of a POST", () => {
  it("to another origin carries no token", async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer(({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(400).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { baseUrl } = await redirecting(307, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await connect(foldGateway, { baseUrl, token: "secret", resume: false })
      .send({ content: "x" })
      .text()
      .catch(() => {});
    expect(seen).toEqual([undefined]);
  });

  it("that leads to itself ends", async () => {
    const server = createServer((_, response) => response.writeHead(307, { Location: "/api/send" }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const sent = connect(foldGateway, { baseUrl }).send({ content: "x" });
    await expect(sent.text()).rejects.toThrow("this is one redirect too many");
  });
});

describe("A client with trust", () => {
  it("decodes what a proxy has compressed", async () => {
    const server = createServer((_, response) =>
      response.writeHead(200, { "Content-Type": "text/plain", "Content-Encoding": "gzip" }).end(gzipSync("OK")),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await connect(foldGateway, { baseUrl, ...trust({ ca: [] }) }).health()).toBe("OK");
  });

  it("names the package that is missing", async () => {
    vi.doMock("undici", () => {
      throw new Error("no such package");
    });
    onTestFinished(() => vi.doUnmock("undici"));
    const call = connect(foldGateway, { baseUrl: "http://127.0.0.1:9", ...trust({ ca: [] }) }).health();
    await expect(call).rejects.toMatchObject({
      name: "TypeError",
      code: "usage",
      message: "the package undici could not be loaded: npm install undici@7",
    });
  });
});
