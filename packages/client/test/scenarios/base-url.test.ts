import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => void vi.unstubAllGlobals());

/** Where a request of this client is sent. */
const sentTo = async (baseUrl: string) => {
  const fetch = async ({ url }: Request) => new Response(url, { headers: { "Content-Type": "text/plain" } });
  return connect(foldGateway, { baseUrl, fetch, resume: false }).health();
};
const misuse = (message: string | RegExp) => ({
  name: "TypeError",
  code: "usage",
  message: expect.stringMatching(message),
});

describe("baseUrl", () => {
  it.each(["/agent", "/", "./agent", "../agent", "//other.example/agent"])(
    "is refused as the path %s outside of a page",
    async (baseUrl) => {
      await expect(sentTo(baseUrl)).rejects.toMatchObject(
        misuse(/^baseUrl ".*" is a path, which only a page can resolve: write the whole address/),
      );
    },
  );

  it.each([
    ["/agent", "https://app.example.com/agent/health"],
    ["/", "https://app.example.com/health"],
    ["./agent", "https://app.example.com/chat/agent/health"],
    ["../agent", "https://app.example.com/agent/health"],
    ["//other.example/agent", "https://other.example/agent/health"],
    ["http://localhost:8080", "http://localhost:8080/health"],
  ])("is resolved as fetch resolves it in a page: %s", async (baseUrl, address) => {
    vi.stubGlobal("location", new URL("https://app.example.com/chat/"));
    expect(await sentTo(baseUrl)).toBe(address);
  });

  it.each(["localhost:8080", "example.com/agent", "ws://localhost"])(
    "needs its scheme in a page as well: %s",
    async (baseUrl) => {
      vi.stubGlobal("location", new URL("https://app.example.com/chat/"));
      await expect(sentTo(baseUrl)).rejects.toMatchObject(misuse(`^add http:// to baseUrl "${baseUrl}"$`));
    },
  );

  it.each([
    ["vscode-webview://1f/index.html", /is vscode-webview: in this page: write the whole address/],
    ["file:///home/page.html", /is file: in this page/],
    ["about:blank", /is not a URL/],
  ])("is refused as a path in a page at %s", async (page, message) => {
    vi.stubGlobal("location", { href: page, origin: "null" });
    await expect(sentTo("/agent")).rejects.toMatchObject(misuse(message));
  });

  it.each(["http://name:password@localhost:8080", "http://name@localhost:8080", "http://:password@localhost:8080"])(
    "is refused with credentials, which no request would carry: %s",
    async (baseUrl) => {
      await expect(sentTo(baseUrl)).rejects.toMatchObject(
        misuse(/^baseUrl contains a user name or password for localhost:8080: pass `headers: \{ Authorization \}`/),
      );
      // The password is not repeated in a log.
      await expect(sentTo(baseUrl)).rejects.not.toMatchObject({ message: expect.stringContaining("password@") });
    },
  );
});
