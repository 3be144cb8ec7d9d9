import type { AnyContract } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { carrying } from "../../src/unusual.js";

// What each request and handshake carries: the user's own headers, the credentials, and the parameters of its operation.

const operations = {
  call: {
    parameters: {
      "X-Mood": { in: "header", type: "string" },
      theme: { in: "cookie", type: "string" },
      q: { in: "query" },
    },
  },
  plain: {},
};
const channels = { line: { parameters: { "X-Mood": { in: "header", type: "string" } } } };
const bearer = { name: "p", auth: { scheme: "bearer" }, operations, channels } as unknown as AnyContract;
const open = { name: "p", operations, channels } as unknown as AnyContract;
const keyed = { name: "p", auth: { header: "X-API-Key" }, operations, channels } as unknown as AnyContract;

const own = { "X-Own": "1", Cookie: "a=b" };
const Authorization = "Bearer secret";
const input = { "X-Mood": "glad", theme: "dark mode", q: "x" };

describe.each(["plain", "line"])("a request for %s", (operation) => {
  test.each<
    [
      what: string,
      AnyContract,
      token: string | undefined,
      headers: Record<string, string>,
      sent: Record<string, string>,
    ]
  >([
    ["its own headers and no credentials where there are none", bearer, undefined, own, own],
    ["the token beside its own headers", bearer, "secret", { ...own, Authorization }, { ...own, Authorization }],
    [
      "the token where the contract says nothing of it",
      open,
      "secret",
      { ...own, Authorization },
      { ...own, Authorization },
    ],
    [
      "the token as an API key, and not as a bearer token too",
      keyed,
      "secret",
      { ...own, Authorization },
      { ...own, "X-API-Key": "secret" },
    ],
    ["no API key where there is no token", keyed, undefined, own, own],
    [
      "a header of the user's own as it is, where there is no token",
      keyed,
      undefined,
      { ...own, Authorization },
      { ...own, Authorization },
    ],
    ["the credentials alone", keyed, "secret", { Authorization }, { "X-API-Key": "secret" }],
  ])("carries %s", (_, contract, token, headers, sent) => {
    const options = token === undefined ? {} : { token };
    expect(carrying(contract, options, headers, operation, input)).toEqual(sent);
  });
});

test("an operation carries its header and cookie parameters beside the rest, and a channel none", () => {
  expect(carrying(keyed, { token: "secret" }, { ...own, Authorization }, "call", input)).toEqual({
    "X-Own": "1",
    "X-API-Key": "secret",
    "X-Mood": "glad",
    Cookie: "a=b; theme=dark%20mode",
  });
  expect(carrying(open, {}, {}, "call")).toEqual({});
  expect(carrying(open, {}, own, "line", input)).toEqual(own);
});

test("a handshake of a browser cannot carry an API key, and any other can", () => {
  const webSocket = () => Promise.reject(new Error("not opened"));
  const headers = { Authorization };
  expect(() => carrying(keyed, { token: "secret" }, headers, undefined)).toThrow(
    expect.objectContaining({ code: "usage" }),
  );
  expect(carrying(keyed, { token: "secret", webSocket }, headers, undefined)).toEqual({ "X-API-Key": "secret" });
  expect(carrying(keyed, {}, own, undefined)).toEqual(own);
  expect(carrying(bearer, { token: "secret" }, headers, undefined)).toEqual(headers);
});
