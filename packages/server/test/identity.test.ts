import { createHash } from "node:crypto";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { describe, expect, it, vi } from "vitest";
import { conversationName, digest, ownerIn, ownersOf, sessionName } from "../src/identity.js";

const authenticate = () => true;
const ownerOf = ownersOf({ authenticate });

describe("a digest", () => {
  it("is the beginning of the SHA-256 of a text in UTF-8", () => {
    for (const text of ["", "ann", "aé€😀", "\ud800", "x".repeat(1_000_001)])
      expect(digest(text)).toBe(createHash("sha256").update(text).digest("hex").slice(0, 32));
  });
});

describe("an owner", () => {
  it.each<[string, unknown, unknown]>([
    ["a string", "ann", "ann"],
    ["an id, whatever else is there", { id: "ann", iat: 1 }, { id: "ann", iat: 2, exp: 3 }],
    ["an id before a sub", { id: "ann", sub: "1" }, { id: "ann", sub: "2" }],
    ["a number as id", { id: 7 }, { id: 7, name: "x" }],
    ["a sub, whatever else is claimed", { sub: "ann", iat: 1, exp: 2, jti: "a" }, { jti: "b", exp: 9, sub: "ann" }],
    ["a sub of one issuer", { iss: "https://a", sub: "ann", iat: 1 }, { sub: "ann", iss: "https://a" }],
    ["a sub where the id is absent", { id: undefined, sub: "ann" }, { id: null, sub: "ann" }],
    ["an id of a class", Object.create({ id: "ann" }), { id: "ann" }],
  ])("stays the same by %s", (_, first, second) => {
    expect(ownerOf(first)).toBe(ownerOf(second));
    expect(ownerOf(first)).toMatch(/^[0-9a-f]{32}$/);
  });

  it("differs wherever the identity does, also by kind, type and issuer", () => {
    const principals = [
      "ann",
      "bob",
      "1",
      1,
      1n,
      '{"id":"ann"}',
      "id:string:ann",
      { id: "ann" },
      { id: "1" },
      { id: 1 },
      { sub: "ann" },
      { sub: "ann", iss: "https://a" },
      { sub: "ann", iss: "https://b" },
      { sub: 'ann","string:x', iss: "" },
    ];
    expect(new Set(principals.map(ownerOf)).size).toBe(principals.length);
  });

  it("is what `identify` returns, where it is given", () => {
    const identified = ownersOf({ authenticate, identify: (principal) => (principal as { mail: string }).mail });
    expect(identified({ mail: "a", id: 1 })).toBe(identified({ mail: "a", id: 2 }));
    expect(identified({ mail: "a" })).not.toBe(identified({ mail: "b" }));
  });

  it("is everybody without `authenticate`", () => {
    expect(ownersOf({})(undefined)).toBe(ownersOf({})({ any: "thing" }));
  });

  it("is named the same after more principals than are remembered", () => {
    const first = ownerOf("first");
    for (let i = 0; i < 1500; i++) ownerOf(`other ${i}`);
    expect(ownerOf("first")).toBe(first);
  });
});

describe("a principal without an identity", () => {
  const wrong: [string, unknown, string][] = [
    ["an object of other claims", { name: "ann", iat: 1 }, "an object"],
    ["an empty object", {}, "an object"],
    ["an array", ["ann"], "an array"],
    ["a map", new Map([["id", 1]]), "an object"],
    ["an id that is an object", { id: { of: "ann" }, sub: "ann" }, "an object"],
    ["an id that is a function", { id: () => 1 }, "an object"],
    ["an empty id", { id: "" }, "an object"],
    ["an id with half of a character", { id: "ann\ud800" }, "an object"],
    ["an issuer that is an object", { sub: "ann", iss: new URL("https://a") }, "an object"],
    ["whether there is one", true, "a boolean, which says whether but not who,"],
    ["an id that says whether", { id: true }, "an object"],
    ["an empty string", "", "an empty string"],
    ["no number", Number.NaN, "number"],
    ["a function", () => "ann", "function"],
    ["a symbol", Symbol.iterator, "symbol"],
  ];

  it.each(wrong)("is a mistake that says what to add: %s", (_, principal, what) => {
    expect(() => ownerOf(principal)).toThrow(
      `This one is ${what} without it: add \`id\` to what \`authenticate\` returns, or pass \`identify\` to \`serve\``,
    );
  });

  it("is refused by its first call with 500, and `onError` gets what to add", async () => {
    const onError = vi.fn();
    const app = serve(
      foldGateway,
      { health: () => "OK" },
      { authenticate: () => ({ name: "ann", token: "mark" }), onError, partial: true },
    );
    expect((await app.fetch(new Request("http://localhost/health"))).status).toBe(500);
    const [error] = onError.mock.calls[0]!;
    expect(error).toMatchObject({ name: "TypeError", message: expect.stringContaining("add `id`") });
    expect(error.message).not.toContain("mark");
  });

  it.each([
    ["number", () => 1],
    ["an empty one", () => ""],
    ["one with half of a character", () => "ann\ud800"],
    ["undefined", () => undefined],
    ["a promise", () => Promise.reject(new Error("no"))],
  ])("is one for which `identify` returns %s", (what, identify) => {
    expect(() => ownersOf({ authenticate, identify: identify as never })("ann")).toThrow(
      `identify must return a string at once, not ${what}`,
    );
  });
});

describe("a name", () => {
  it("differs where any part of a conversation does, and tells its owner alone", () => {
    const whole = ["p", "o", "/x", "a", "k"] as const;
    const all = [
      whole,
      ...whole.map((_, i) => whole.map((part, j) => (i === j ? `${part}2` : part)) as never as typeof whole),
    ];
    const names = all.map((parts) => conversationName(...parts));
    expect(new Set(names).size).toBe(6);
    expect(names.map(ownerIn)).toEqual(["a", "a", "a", "a", "a2", "a"]);
    expect(names[0]).toMatch(/^p\/o\/a\.[0-9a-f]{32}$/);
    expect(conversationName("p", "o", '/x","k', "a", "l")).not.toBe(conversationName("p", "o", "/x", "a", 'k","l'));
  });

  it("is that of the owner's session, or of one that is shared", () => {
    expect(sessionName({}, "a", "s")).not.toBe(sessionName({}, "b", "s"));
    expect(sessionName({ sharedSessions: true }, "a", "s")).toBe(sessionName({ sharedSessions: true }, "b", "s"));
    expect(ownerIn(sessionName({}, "a", "s"))).toBe("a");
    expect(sessionName({}, "a", "secret")).not.toContain("secret");
  });
});
