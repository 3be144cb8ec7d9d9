import type { AnyContract, AnyMessage } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { CAUSES, causeOf, refusal } from "../../src/causes.js";
import { parseRetryAfter } from "../../src/response.js";
import { textOf } from "../../src/stream/open-stream.js";

const error = (message: string, more: object = {}) => Object.assign(new Error(message), more);
const request = {} as Request;

/** The facts that a runtime reports for each cause, and the sentence in the error. */
const SAID: readonly (readonly [facts: Parameters<typeof causeOf>[0], says: RegExp])[] = [
  [
    { request, cause: error("fetch failed", { cause: error("no", { code: "ECONNREFUSED" }) }) },
    /nothing listens there/,
  ],
  [{ request, cause: error("x", { code: "ConnectionRefused" }) }, /nothing listens there/],
  [{ request, cause: error("x: Connection refused (os error 111)") }, /nothing listens there/],
  [{ request, cause: error("x", { code: "ENOTFOUND" }) }, /the host name is not known/],
  [{ request, cause: error("x", { code: "EAI_AGAIN" }) }, /the host name is not known/],
  [{ request, cause: error("x", { code: "ERR_TLS_CERT_ALTNAME_INVALID" }) }, /certificate is for another name/],
  [{ request, cause: error("certificate expired") }, /certificate has expired/],
  [{ request, cause: error("x", { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }) }, /certificate is not trusted/],
  [{ request, cause: error("x", { code: "ERR_SSL_WRONG_VERSION_NUMBER" }) }, /does not speak TLS/],
  [{ request, cause: error("x", { code: "EHOSTUNREACH" }) }, /no connection was made/],
  [{ request, cause: error("x", { code: "HPE_INVALID_CONSTANT" }) }, /does not speak HTTP/],
  [{ request, cause: error("socket hang up"), address: "http://x" }, /closed without an answer/],
  [{ request, cause: error("socket hang up"), address: "ws://x" }, /closed without an answer/],
  [{ request, cause: error("Failed to fetch") }, /the runtime does not say why/],
  [{ status: 404, type: "text/plain", redirected: "http://x/v2" }, /the request was redirected there/],
  [
    {
      request: new Request("http://x", { headers: { "X-Editor": "a", Accept: "b" } }),
      cause: error("Failed to fetch"),
    },
    /`origins`\. A server that is not Parlance's must allow the header x-editor too$/,
  ],
  [{ status: 401, type: "application/json" }, /no `token` was given/],
  [{ status: 426, type: "text/plain", token: "t" }, /the server wants a WebSocket/],
  [{ status: 502, type: "text/html", token: "t" }, /this is a web page/],
];

describe("A likely cause", () => {
  test.each(SAID)("of %j is reported", (facts, says) => {
    const told = causeOf(facts).says;
    expect(told).toMatch(says);
    // Behind the sentence of an error, or in brackets behind a refusal.
    expect(told).toMatch(facts.status === undefined ? /^: / : /^ \(.*\)$/);
  });

  test("is known to a test for each row, and each row says something of its own", () => {
    const untold = CAUSES.filter(({ says }) => !SAID.some(([, one]) => one.test(says)));
    expect(untold).toEqual([]);
    expect(new Set(CAUSES.map(({ says }) => says)).size).toBe(CAUSES.length);
  });

  test.each([
    [{ request, cause: error("something else") }],
    [{ request, cause: undefined }],
    // The parts of an error are read apart: the end of one and the beginning of the next are no name.
    [{ request, cause: error("REFUSED", { code: "ECONN", cause: error("EHOST", { errors: ["UNREACH"] }) }) }],
    // Where TLS is spoken already.
    [{ request, cause: error("socket hang up"), address: "https://x" }],
    [{ request, cause: error("socket hang up") }],
    [{ status: 401, type: "application/json", token: "t" }],
    [{ status: 500, type: "application/json", token: "t" }],
  ])("of %j is not told", (facts) => expect(causeOf(facts).says).toBe(""));

  test("is looked for in what caused an error, four deep, and in each of several", () => {
    const deep = (depth: number): Error =>
      error("x", depth === 0 ? { code: "ECONNREFUSED" } : { cause: deep(depth - 1) });
    expect([causeOf({ request, cause: deep(4) }), causeOf({ request, cause: deep(5) })]).toEqual([
      { says: expect.stringContaining("nothing listens"), unsent: true },
      { says: "", unsent: false },
    ]);
    const loop = error("x");
    Object.assign(loop, { cause: loop, errors: [loop] });
    expect(causeOf({ request, cause: loop })).toEqual({ says: "", unsent: false });
    const some = (...codes: string[]) =>
      causeOf({ request, cause: error("x", { errors: codes.map((code) => error("y", { code })) }) });
    expect(some("ECONNREFUSED", "ECONNREFUSED")).toMatchObject({
      says: expect.stringContaining("nothing"),
      unsent: true,
    });
    // One of them may have been sent.
    expect(some("ECONNREFUSED", "ECONNRESET")).toMatchObject({
      says: expect.stringContaining("nothing"),
      unsent: false,
    });
  });

  test.each([
    [{ code: "ECONNREFUSED" }, true],
    [{ code: "UND_ERR_CONNECT_TIMEOUT" }, true],
    [{ syscall: "connect", code: "ETIMEDOUT" }, true],
    [{ syscall: "getaddrinfo" }, true],
    [{ syscall: "read", code: "ECONNRESET" }, false],
    [{ code: "XECONNREFUSED" }, false],
    [{}, false],
  ])("shows by %j whether nothing was sent: %s", (more, unsent) => {
    expect(causeOf({ request, cause: error("x", more) }).unsent).toBe(unsent);
  });

  test("of a request that could not be made is the caller's mistake", () => {
    expect(causeOf({ request: undefined, address: "http://x", cause: new TypeError("no") })).toMatchObject({
      says: "",
      mistake: { name: "TypeError", code: "usage", message: "http://x: TypeError: no" },
    });
  });

  test("stands at the end of a refusal, which has what the answer said", () => {
    const contract = { fault: { text: ["/error"] } } as unknown as AnyContract;
    const answer = { status: 401, type: "application/json", token: undefined, body: '{"error":"who?"}' };
    expect(refusal(contract, { ...answer, retryAfter: "7" })).toMatchObject({
      message: "who? (no `token` was given)",
      status: 401,
      retryAfter: 7,
    });
    for (const [retryAfter, seconds] of [
      [3, 3],
      [null, undefined],
      [undefined, undefined],
      ["soon", undefined],
    ] as const)
      expect(refusal(contract, { ...answer, retryAfter }).retryAfter).toBe(seconds);
  });
});

test.each([
  [null, undefined],
  [undefined, undefined],
  ["", undefined],
  ["1.5", 1.5],
  ["999999999999999", 999_999_999_999_999],
  ["1000000000000000", undefined],
  ["1.", undefined],
  ["x1", undefined],
  ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
])("the Retry-After %j is %s seconds", (header, seconds) => expect(parseRetryAfter(header)).toBe(seconds));

describe("The text of a stream", () => {
  const contract = { name: "p", messages: { text: {}, done: {} } } as unknown as AnyContract;
  const text = { append: { text: "more" }, final: { done: "all" } };
  async function* said(...messages: object[]) {
    yield* messages as AnyMessage[];
  }
  const of = (stream: object, ...messages: object[]) => textOf(contract, "send", stream as never, said(...messages));
  const more = (part: string) => ({ type: "text", more: part });

  test.each([
    [[more("a"), more("b")], "ab"],
    [[more("a"), { type: "done", all: "whole" }], "whole"],
    // Some servers send an empty one after they have streamed it.
    [[more("a"), more("b"), { type: "done", all: "" }], "ab"],
    [[more("a"), { type: "other", more: "b" }], "a"],
    [[], ""],
  ])("of %j is %j", async (messages, whole) => {
    for (const ends of [{}, { end: ["done"] }, { mayEnd: ["done"] }])
      expect(await of({ text, ...ends }, ...messages)).toBe(whole);
  });

  test("is none of a stream without one", async () => {
    for (const stream of [{}, { text: { final: { done: "all" } } }])
      await expect(of(stream)).rejects.toMatchObject({
        name: "TypeError",
        code: "usage",
        message: "p.send has no text: read its messages",
      });
  });
});
