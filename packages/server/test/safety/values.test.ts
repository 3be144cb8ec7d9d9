import { connect } from "@parlance/client";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { bearer, serve } from "@parlance/server";
import { type AnyContract, bind, type Contract, parseJson, unbind } from "@parlance/wire";
import { describe, expect, it } from "vitest";

const origin = { protocol: "p", side: "client" } as const;

/** Numbers that a double does not hold, as JSON. */
const LARGE = [
  "1e400",
  "-1e400",
  "1E309",
  "1e+400",
  "1e0400",
  "9".repeat(310),
  `${"9".repeat(260)}e50`,
  "1.5e999999999",
];
/** Numbers, and texts that look like one, which are as they should be. */
const FINE = [
  "1e308",
  "-1.7976931348623157e308",
  "1e-400",
  "0e400",
  "9".repeat(300),
  '"1e400"',
  `"${"9".repeat(400)}"`,
];

const pages = {
  name: "pages",
  operations: {
    list: {
      method: "GET",
      path: "/{book}/pages",
      parameters: {
        book: { in: "path", type: "string" },
        limit: { in: "query", type: "number" },
        from: { in: "query", type: "integer" },
      },
      answer: { status: 200 },
    },
  },
  channels: {},
} as unknown as AnyContract & Contract;
const read = (query: string) =>
  unbind(pages, { checks: {}, reads: {} }, ["list"], { path: { book: "b" }, query: new URLSearchParams(query) }).input;

describe("Numbers that are not finite:", () => {
  it.each(LARGE)("%.12s is refused wherever it stands in a body", (text) => {
    for (const [body, at] of [
      [text, ""],
      [`[0,${text}]`, "/1"],
      [`{"a":{"b/c":[${text}]}}`, "/a/b~1c/0"],
    ] as const)
      expect(() => parseJson(body, origin)).toThrow(
        expect.objectContaining({ code: "malformed_json", flaws: [expect.objectContaining({ at })] }),
      );
  });

  it.each(FINE)("%.12s is read as JSON.parse reads it", (text) => {
    expect(parseJson(`{"a":[${text}]}`, origin)).toEqual(JSON.parse(`{"a":[${text}]}`));
  });

  it.each(LARGE)("%.12s stays text in a query, and fails its schema", (text) => {
    const input = read(new URLSearchParams({ limit: text, from: text }).toString());
    expect(input).toEqual({ book: "b", limit: text, from: text });
  });

  it.each([["Infinity"], ["-Infinity"], ["NaN"], ["0x10"], ["1_000"], ["1e3"], [" 1"], [""]])(
    "%j stays text in a query",
    (text) => expect(read(new URLSearchParams({ limit: text }).toString()).limit).toBe(text),
  );

  it.each(LARGE)("%.12s does not reach a handler by any carrier", async (text) => {
    const called: unknown[] = [];
    const handlers = {
      // biome-ignore lint/correctness/useYield: nothing reaches it
      async *send(input) {
        called.push(input);
      },
    } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
    const app = serve(foldGateway, handlers);
    const request = new Request("http://localhost/api/send", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: `{"content":"x","more":${text}}`,
    });
    expect((await app.fetch(request)).status).toBe(400);
    expect(called).toEqual([]);
  });
});

/** Half of a pair, at each end and inside, and two halves in the wrong order. */
const LONE = ["\ud800", "\udfff", "a\ud83d", "\ude00a", "a\ud83da", "\ude00\ud83d"];

describe("Half of a surrogate pair:", () => {
  it.each(LONE)("%j is refused in a path and in a query, by the parameter's name", (text) => {
    expect(() => bind(pages, "list", { book: text })).toThrow(/^pages\.list: book is part of the URL/);
    expect(() => bind(pages, "list", { book: "b", limit: text })).toThrow(/^pages\.list: limit is part of the URL/);
    expect(() => bind(pages, "list", { book: text })).toThrow(TypeError);
  });

  it("a whole pair is percent-encoded", () => {
    expect(bind(pages, "list", { book: "😀", limit: "😀" }).target).toBe("/%F0%9F%98%80/pages?limit=%F0%9F%98%80");
  });

  it("a client's call rejects, or throws at once, with a TypeError", async () => {
    const app = serve(emacsAgent, {} as Partial<EmacsAgentHandlers> as EmacsAgentHandlers);
    const agent = connect(emacsAgent, { fetch: app.fetch });
    await expect((async () => agent.getSession({ session_id: "\ud800" }))()).rejects.toBeInstanceOf(TypeError);
    const read = async () => {
      for await (const _ of agent.events({ session_id: "\ud800" }));
    };
    await expect(read()).rejects.toBeInstanceOf(TypeError);
    expect(Object.values(app.stats()).every((count) => count === 0)).toBe(true);
  });
});

describe("A table of bearer tokens", () => {
  it.each(["abc:def", "", " ", "a b", "a\tb", "ä", "a=b", "=", 'a"', "a,b", "a\n", "\ud800"])(
    "with %j is refused, because no client can send it, and its error does not show it",
    (token) => {
      let error: unknown;
      try {
        bearer({ [token]: "ann" });
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(/RFC 6750/);
      if (token.length > 6) expect((error as Error).message).not.toContain(token);
    },
  );

  it.each(["a", "abc.def-_~+/=", "YWJj==", "0"])("with %j is good", async (token) => {
    const authenticate = bearer({ [token]: "ann" });
    const headers = { Authorization: `Bearer ${token}` };
    expect(await authenticate(new Request("http://localhost/", { headers }))).toBe("ann");
  });

  it.each([[undefined], [null], [false]])("with the principal %j is refused", (principal) => {
    expect(() => bearer({ token: principal })).toThrow(TypeError);
  });
});
