import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { Disconnected, Refusal, Violation } from "@parlance/wire";
import { describe as about, expect, it, test } from "vitest";
import { describe, disconnected, type Flaw, misuse } from "../src/errors.js";

const copy = "../src/errors.ts?copy";
const there: { Refusal: typeof Refusal; Disconnected: typeof Disconnected } = await import(/* @vite-ignore */ copy);

it("a handler and a token function refuse with the Refusal of another copy", async () => {
  const refusal = () => Promise.reject(new there.Refusal("no such agent", { status: 404 }));
  const app = serve(foldGateway, { health: refusal } as never);
  const { fetch } = app;
  await expect(connect(foldGateway, { fetch }).health()).rejects.toMatchObject({ status: 404, name: "Refusal" });
  const refused = connect(foldGateway, { fetch, token: refusal }).health();
  await expect(refused).rejects.toMatchObject({ message: "no such agent", status: 404 });
});

about("An error", () => {
  class Own extends Refusal {}
  const made = {
    Refusal: new Refusal("no"),
    Violation: new Violation("no", { code: "schema", protocol: "p", side: "client" }),
    Disconnected: disconnected("no", "closed", true),
  };
  const kinds = { Refusal, Violation, Disconnected };

  test.each(Object.entries(kinds))(
    "is a %s where it is of that class, of any copy of it, and nothing else is",
    (name, kind) => {
      const which = Object.entries(made).filter(([, error]) => error instanceof kind);
      expect(which.map(([of, error]) => [of, error.name, error instanceof Error])).toEqual([[name, name, true]]);
      for (const other of [undefined, null, new Error("no"), {}, "no", kind.prototype.constructor])
        expect(other instanceof kind).toBe(false);
    },
  );

  test("of another copy is known, and one of a subclass by that subclass alone", () => {
    expect(new there.Refusal("no") instanceof Refusal).toBe(true);
    expect(new there.Disconnected("no", { code: "closed", retryable: true }) instanceof Refusal).toBe(false);
    const own = new Own("no", { status: 404 });
    expect([own instanceof Own, own instanceof Refusal, made.Refusal instanceof Own]).toEqual([true, true, false]);
  });

  test("of a caller's own mistake is a TypeError with a code", () => {
    const error = misuse("no");
    expect([error.name, error.message, Object.entries(error)]).toEqual(["TypeError", "no", [["code", "usage"]]]);
  });

  test("has its cause, and what was not confirmed", () => {
    const cause = new Error("why");
    expect(disconnected("no", "gap", false, cause, [{ type: "a" }])).toMatchObject({
      message: "no",
      code: "gap",
      retryable: false,
      cause,
      unconfirmed: [{ type: "a" }],
    });
    expect([made.Disconnected.unconfirmed, made.Disconnected.cause, made.Violation.flaws]).toEqual([[], undefined, []]);
    expect(new Violation("no", { code: "schema", protocol: "p", side: "client", cause })).toMatchObject({
      message: "p: no (from the client)",
      cause,
    });
  });

  test.each([
    [{}, "refused"],
    [{ status: 404 }, "status_404"],
    [{ code: "own" }, "own"],
    [{ status: 404, code: "own" }, "own"],
  ])("that refuses with %j has the code %s", (details, code) => {
    expect({ ...new Refusal("no", details) }).toEqual({ ...details, code });
  });

  test("may be tried again after statuses that pass, unless the protocol says otherwise", () => {
    const passing = Array.from({ length: 200 }, (_, i) => 400 + i).filter(
      (status) => new Refusal("no", { status }).retryable,
    );
    expect(passing).toEqual([408, 429, 502, 503, 504]);
    expect(new Refusal("no").retryable).toBe(false);
    for (const recoverable of [true, false])
      for (const status of [400, 503]) expect(new Refusal("no", { status, recoverable }).retryable).toBe(recoverable);
  });
});

const flaw = (at: string, keyword: string, params: Flaw["params"] = {}): Flaw => ({ at, keyword, params });

test.each<[flaws: Flaw[], text: string]>([
  [[flaw("", "required", { missingProperty: "a" })], "`a` is missing"],
  [[flaw("/a/0", "required", { missingProperty: "b" })], "`a.0.b` is missing"],
  [[flaw("", "type", { type: "object" })], "the body must be object"],
  [[flaw("/a/b/c", "type", { type: ["string", "null"] })], "`a.b.c` must be string or null"],
  [[flaw("/a", "enum", { allowedValues: ["x", "y"] })], "`a` must be x or y"],
  [[flaw("/a", "const", { allowedValue: "x" })], "`a` must be x"],
  [[flaw("/a", "minimum", { comparison: ">=", limit: 3 })], "`a` breaks minimum >= 3"],
  [[flaw("/a", "enum", { allowedValues: ["x", "y"], found: 1 })], "`a` must be x or y, not 1"],
  [[{ ...flaw("/a", "required", { missingProperty: "b" }), branch: "image" }], "`a.b` is missing in image"],
  [[{ ...flaw("/a", "type", { type: "string" }), branch: "tool" }], "`a` must be string in tool"],
  [[{ ...flaw("/a", "minimum", { limit: 1 }), branch: 7 }], "`a` breaks minimum 1"],
  [[flaw("/a", "anyOf")], "`a` fits no alternative"],
  [[flaw("", "oneOf", { passingSchemas: [0, 1] })], "the body fits more than one alternative"],
  [[flaw("/a", "oneOf", { passingSchemas: null })], "`a` fits no alternative"],
  [[flaw("/a", "discriminatorType", { type: ["x", "y"] })], "`a` breaks discriminatorType x y"],
  [
    ["a", "b", "c"].map((name) => flaw(`/${name}`, "const", { allowedValue: 1 })),
    "`a` must be 1, `b` must be 1, `c` must be 1",
  ],
  [
    ["a", "b", "c", "d", "e"].map((name) => flaw(`/${name}`, "const", { allowedValue: 1 })),
    "`a` must be 1, `b` must be 1, `c` must be 1, 2 more",
  ],
  [[], ""],
])("the flaws %j are reported as %j", (flaws, text) => expect(describe(flaws)).toBe(text));
