import { type AnyContract, router, unbinder } from "@parlance/wire";

import fc from "fast-check";
import { describe, expect, test } from "vitest";

const seed = 20261122;
const operation = (method: string, path: string, more = {}) => ({ method, path, answer: { status: 204 }, ...more });
const routed = (operations: object, channels: object = {}) =>
  router({ operations, channels } as unknown as AnyContract);

describe("A route", () => {
  const route = routed(
    {
      list: operation("GET", "/a"),
      make: operation("POST", "/a"),
      again: operation("POST", "/a"),
      one: operation("GET", "/a/{id}", { alsoAt: ["/old/{id}"] }),
      own: operation("DELETE", "/a/own"),
      deep: operation("GET", "/a/{x}/b/{y}"),
      deepOwn: operation("GET", "/a/own/c"),
      cancel: operation("POST", "/a/{id}:cancel"),
      file: operation("GET", "/f/{name}.json"),
      archive: operation("GET", "/f/{name}.tar.json"),
      version: operation("GET", "/f/v{n}/x"),
    },
    { line: { path: "/line/{at}", alsoAt: ["/a"] }, later: { path: "/line/{other}" } },
  );

  test.each<[method: string, path: string, found: unknown]>([
    ["GET", "/a", { operations: ["list"], path: {} }],
    ["POST", "/a", { operations: ["make", "again"], path: {} }],
    ["PUT", "/a", { allow: ["GET", "POST"] }],
    ["GET", "/a/1", { operations: ["one"], path: { id: "1" } }],
    ["GET", "/old/%C3%BC%2F", { operations: ["one"], path: { id: "ü/" } }],
    ["DELETE", "/a/own", { operations: ["own"], path: {} }],
    ["GET", "/a/own", { allow: ["DELETE"] }],
    ["GET", "/a/own/c", { operations: ["deepOwn"], path: {} }],
    ["GET", "/a/own/b/2", { operations: ["deep"], path: { x: "own", y: "2" } }],
    ["POST", "/a/1:cancel", { operations: ["cancel"], path: { id: "1" } }],
    ["POST", "/a/x%3Acancel:cancel", { operations: ["cancel"], path: { id: "x:cancel" } }],
    ["GET", "/a/1:cancel", { allow: ["POST"] }],
    ["GET", "/a/1%3Acancel", { operations: ["one"], path: { id: "1:cancel" } }],
    ["GET", "/a/:cancel", { operations: ["one"], path: { id: ":cancel" } }],
    ["GET", "/f/a.json", { operations: ["file"], path: { name: "a" } }],
    ["GET", "/f/a.tar.json", { operations: ["archive"], path: { name: "a" } }],
    ["GET", "/f/.tar.json", { operations: ["file"], path: { name: ".tar" } }],
    ["GET", "/f/.json", undefined],
    ["GET", "/f/%zz.json", undefined],
    ["GET", "/f/v1/x", { operations: ["version"], path: { n: "1" } }],
    ["GET", "/f/v/x", undefined],
    ["GET", "/line/7", { channel: "line", path: { at: "7" } }],
    ["POST", "/line/7", { allow: ["GET"] }],
    ["GET", "/a/%zz", undefined],
    ["GET", "/a/", undefined],
    ["GET", "/a/1/b/", undefined],
    ["GET", "/a/1/c", undefined],
    ["GET", "/", undefined],
    ["GET", "", undefined],
  ])("of %s %s is found", (method, path, found) => expect(route(method, path)).toEqual(found));

  test(`is the one that a search of all templates finds, with seed ${seed}`, () => {
    const segment = fc.constantFrom("a", "ba", "{p}", "{p}a", "b{p}a");
    const template = fc
      .array(segment, { minLength: 1, maxLength: 3 })
      .map((parts) => parts.map((part, i) => part.replace("{p}", `{p${i}}`)));
    const asked = fc.array(fc.constantFrom("a", "ba", "c", "ca", "bca"), { minLength: 1, maxLength: 3 });
    const valueIn = (part: string, path: string) => {
      const [before, , after] = part.split(/\{(\w+)\}/);
      const found = new RegExp(`^${before}(.+)${after ?? ""}$`).exec(path)?.[1];
      return part.includes("{") ? found : undefined;
    };
    fc.assert(
      fc.property(fc.array(template, { minLength: 1, maxLength: 6 }), asked, (templates, path) => {
        const operations = Object.fromEntries(
          templates.map((parts, i) => [`o${i}`, operation("GET", `/${parts.join("/")}`)]),
        );
        const fits = templates.filter(
          (parts) =>
            parts.length === path.length &&
            parts.every((part, i) => part === path[i] || valueIn(part, path[i]!) !== undefined),
        );
        // A literal segment goes before a parameter, and much text beside it before little, from the left.
        const text = (part: string) => part.replace(/\{\w+\}/, "").length;
        const rank = (parts: string[]) => parts.map((part) => (part.includes("{") ? 9 - text(part) : 0)).join("");
        const [best] = [...fits].sort((a, b) => rank(a).localeCompare(rank(b)));
        const found = routed(operations)("GET", `/${path.join("/")}`);
        if (!best) return void expect(found).toBeUndefined();
        expect(found).toEqual({
          operations: templates.flatMap((parts, i) => (parts.join() === best.join() ? `o${i}` : [])),
          path: Object.fromEntries(
            best.flatMap((part, i) => (part.includes("{") ? [[`p${i}`, valueIn(part, path[i]!)]] : [])),
          ),
        });
      }),
      { seed, numRuns: 300 },
    );
  });
});

describe("The input of a request", () => {
  const parameters = { id: { in: "path", type: "integer" }, q: { in: "query", type: "boolean" } };
  const contract = {
    name: "p",
    operations: {
      plain: operation("GET", "/", { parameters }),
      body: operation("POST", "/", { parameters, body: "Body" }),
      one: operation("POST", "/", { body: "Body", when: { kind: "one" }, absent: ["kind"] }),
      two: operation("POST", "/", { body: "Body", when: { kind: "two" } }),
      csv: operation("GET", "/", {
        parameters: { as: { in: "query", type: "string" } },
        when: { as: "csv" },
        absent: ["as"],
      }),
    },
    channels: { line: { path: "/", parameters } },
  } as unknown as AnyContract;
  const accepts = { checks: {}, reads: { operations: { two: (body: object) => ({ ...body, read: true }) } } } as never;
  const unbind = unbinder(contract, accepts);
  const arrived = (query: string, body?: unknown, path = {}) => ({ path, query: new URLSearchParams(query), body });

  test.each<[names: string[], given: ReturnType<typeof arrived>, name: string, input: object]>([
    [["plain"], arrived("q=true&other=1", { ignored: 1 }, { id: "7", no: "8" }), "plain", { id: 7, q: true }],
    [["line"], arrived("q=no"), "line", { q: "no" }],
    [["body"], arrived("", { a: 1 }, { id: "7" }), "body", { a: 1, id: 7 }],
    [["one", "two"], arrived("", { kind: "one", a: 1 }), "one", { a: 1 }],
    [["one", "two"], arrived("", { kind: "two" }), "two", { read: true }],
    [["one", "two"], arrived("", { a: 1 }), "one", { a: 1 }],
    [["plain", "csv"], arrived("as=csv"), "plain", {}],
    [["csv"], arrived("as=csv"), "csv", {}],
    [["csv"], arrived(""), "csv", {}],
  ])("of %j is of its operation, with its types and without its constants", (names, given, name, input) => {
    expect(unbind(names, given)).toEqual({ name, input });
  });

  test("is refused where the body is none, repeats a parameter, or means no operation", () => {
    for (const body of [undefined, null, [], "a"])
      expect(() => unbind(["body"], arrived("", body))).toThrow("the request's body is a JSON object");
    expect(() => unbind(["body"], arrived("", { q: true }))).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("q belongs in the query, not in the body"),
        flaws: [{ at: "/q", keyword: "additionalProperties", params: { additionalProperty: "q" } }],
      }),
    );
    expect(() => unbind(["one", "two"], arrived("", { kind: "three" }))).toThrow(
      /none of one \{"kind":"one"\}, two \{"kind":"two"\} is meant/,
    );
    expect(() => unbind(["csv"], arrived("as=xml"))).toThrow(/is meant/);
  });
});
