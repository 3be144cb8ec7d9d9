import {
  type Accepts,
  type AnyContract,
  type Arrived,
  type Check,
  type Parameter,
  unbind,
  unbinder,
  Violation,
} from "@parlance/wire";
import { describe, expect, test } from "vitest";

const thrown = (run: () => unknown): Violation => {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(Violation);
    return error as Violation;
  }
  throw new Error("nothing was thrown");
};

/** A request, with its query as text. */
type Sent = Partial<Omit<Arrived, "query">> & { readonly query?: string };
const arrived = (more: Sent = {}): Arrived => ({
  path: {},
  ...more,
  query: new URLSearchParams(more.query),
});

const query = { in: "query", type: "string" } as const;

describe("Of the operations of one route", () => {
  const operation = (when?: object, parameters?: object, absent?: readonly string[]) => ({
    method: "GET",
    path: "/a",
    when,
    parameters,
    absent,
  });
  const contract = {
    name: "p",
    operations: {
      plain: operation(),
      json: operation({ format: "json", deep: true }, { format: query, deep: { in: "query", type: "boolean" } }),
      first: operation({ page: 1 }, { page: { in: "query", type: "integer" } }, ["page"]),
      later: operation({ page: 2.5 }, { page: { in: "query", type: "number" } }),
      live: operation({ stream: true }, { stream: { in: "query", type: "boolean" } }),
      whole: operation({ stream: false }, { stream: { in: "query", type: "boolean" } }, ["stream"]),
      text: operation({ format: "text" }, { format: query }),
      also: operation({ format: "text" }, { format: query }),
      start: { ...operation({ kind: "start" }, {}, ["kind"]), body: "Body" },
      stop: { ...operation({ kind: "stop", at: 1 }), body: "Body" },
    },
    channels: { line: { path: "/a", client: [], server: [] } },
  } as unknown as AnyContract;
  const named = (names: readonly string[], sent: Sent) =>
    unbind(contract, { checks: {}, reads: {} } as unknown as Accepts, names, arrived(sent)).name;

  test.each<[names: string[], sent: Sent, name: string]>([
    // The only one is meant, whatever is sent.
    [["plain"], { query: "format=json" }, "plain"],
    [["line"], { query: "format=json" }, "line"],
    [["text", "json"], { query: "format=text" }, "text"],
    [["json", "text"], { query: "format=text" }, "text"],
    [["text", "also"], { query: "format=text" }, "text"],
    [["json", "text"], { query: "format=json&deep=true" }, "json"],
    [["first", "later"], {}, "first"],
    [["later", "first"], { query: "other=1" }, "first"],
    [["first"], {}, "first"],
    [["first", "later"], { query: "page=1" }, "first"],
    [["first", "later"], { query: "page=2.5" }, "later"],
    [["live", "whole"], { query: "stream=true" }, "live"],
    [["whole", "live"], { query: "stream=true" }, "live"],
    [["live", "whole"], { query: "stream=false" }, "whole"],
    [["live", "whole"], {}, "whole"],
    [["whole", "live"], {}, "whole"],
    [["text"], { query: "format=text" }, "text"],
    [["json", "plain"], { query: "format=xml" }, "plain"],
    [["start", "stop"], { body: { kind: "start" } }, "start"],
    [["start", "stop"], { body: { kind: "stop", at: 1 } }, "stop"],
    [["stop", "start"], { body: {} }, "start"],
    [["start", "stop"], { body: {} }, "start"],
    // A query says nothing of what stands in the body, and a body nothing of what stands in the query.
    [["stop", "start"], { query: "kind=stop&at=1", body: {} }, "start"],
    [["live", "whole"], { body: { stream: true } }, "whole"],
  ])("%j, one is meant by %j: %s", (names, sent, name) => expect(named(names, sent)).toBe(name));

  test.each<[names: string[], sent: Sent]>([
    [["text"], { query: "format=json" }],
    [["text"], { query: "format=" }],
    [["text"], {}],
    [["json", "text"], {}],
    [["json", "text"], { query: "deep=true" }],
    [["live", "whole"], { query: "stream=yes" }],
    [["live", "whole"], { query: "stream=" }],
    [["stop"], { body: {} }],
    [["json", "text"], { query: "format=xml" }],
    [["json"], { query: "format=json" }],
    [["stop", "start"], { body: { kind: "stop" } }],
    [["stop", "start"], { body: { kind: null, at: null } }],
  ])("%j, none is meant by %j", (names, sent) => {
    const error = thrown(() => named(names, sent));
    expect(error).toMatchObject({ code: "unknown_operation", protocol: "p", side: "client" });
  });

  test("the error names those that there are, and what each wants", () => {
    const { message } = thrown(() => named(["text", "json"], { query: "format=xml" }));
    expect(message).toContain('none of text {"format":"text"}, json {"format":"json","deep":true} is meant');
  });

  test.each(["text", [1], null])("a body that is %j says nothing of them", (body) => {
    expect(thrown(() => named(["start", "stop"], { body })).code).toBe("not_an_object");
  });
});

describe("The input of a request", () => {
  const parameters: Record<string, Parameter> = {
    id: { in: "path", type: "integer" },
    q: query,
    all: { in: "query", type: "boolean" },
    "X-One": { in: "header", type: "number" },
    two: { in: "cookie", type: "string" },
  };
  const contract = {
    name: "p",
    operations: {
      put: { method: "PUT", path: "/{id}", parameters, body: "Body", when: { kind: "x" }, absent: ["kind"] },
      get: { method: "GET", path: "/{id}", parameters: { id: parameters.id, q: query } },
      bare: { method: "GET", path: "/" },
    },
    channels: { line: { path: "/line/{id}", parameters: { id: parameters.id, "X-One": parameters["X-One"] } } },
  } as unknown as AnyContract;
  const inputs: [name: string, input: unknown][] = [];
  const check = (name: string, errors?: Check["errors"]): Check =>
    Object.assign((input: unknown) => inputs.push([name, input]) > 0 && !errors, { errors }) as unknown as Check;
  const accepts = (more: Partial<Accepts> = {}) =>
    ({
      checks: { PutInput: check("put"), GetInput: check("get"), LineInput: check("line") },
      reads: {},
      ...more,
    }) as Accepts;
  const of = (name: string, request: Arrived, more?: Partial<Accepts>) =>
    unbind(contract, accepts(more), [name], request).input;

  test("has each part with its type, without the constants, and is what is checked", () => {
    inputs.length = 0;
    const headers = new Headers({ "X-One": "1.5", Cookie: "two=a%20b" });
    const request = arrived({ path: { id: "7" }, query: "q=1&all=true", headers, body: { text: "t", kind: "x" } });
    const whole = { id: 7, q: "1", all: true, "X-One": 1.5, two: "a b", text: "t" };
    expect(of("put", request)).toEqual(whole);
    expect(of("line", request)).toEqual({ id: 7, "X-One": 1.5 });
    expect(inputs).toEqual([
      ["put", whole],
      ["line", { id: 7, "X-One": 1.5 }],
    ]);
  });

  test("lacks what was not sent, and takes a body only where there is one", () => {
    const input = of("put", arrived({ path: { id: "7" }, headers: new Headers(), body: {} }));
    expect(Object.keys(input)).toEqual(["id"]);
    expect(of("get", arrived({ path: { id: "x" }, query: "q=&q=2", body: { text: "t" } }))).toEqual({ id: "x", q: "" });
    expect(of("put", arrived({ body: {} }))).toEqual({});
    // No schema, and so nothing to check.
    expect(of("bare", arrived({ query: "q=1" }))).toEqual({});
  });

  test("is read of a body as its contract's reader has it", () => {
    const put = (body: unknown) => ({ read: body });
    const reads = { operations: { put } } as unknown as Accepts["reads"];
    const body = { text: "t" };
    expect(of("put", arrived({ body }), { reads })).toEqual({ read: { text: "t" } });
    expect(of("get", arrived({ body }), { reads })).toEqual({});
    expect(body).toEqual({ text: "t" });
  });

  test.each([undefined, null, "text", 7, ["list"]])("is none where the body is %j", (body) => {
    expect(thrown(() => of("put", arrived({ body })))).toMatchObject({
      code: "not_an_object",
      protocol: "p",
      side: "client",
      subject: "put",
    });
  });

  test.each(Object.entries(parameters))("has %s from its own place only", (key, { in: place }) => {
    const error = thrown(() => of("put", arrived({ body: { [key]: "1" } })));
    expect(error.message).toContain(`${key} belongs in the ${place}, not in the body`);
    expect(error).toMatchObject({
      code: "schema",
      protocol: "p",
      side: "client",
      subject: "put",
      flaws: [{ at: `/${key}`, keyword: "additionalProperties", params: { additionalProperty: key } }],
    });
  });

  test("that breaks its schema is refused with its flaws", () => {
    const errors = [{ instancePath: "/id", keyword: "type", params: { type: "integer" }, message: "", schemaPath: "" }];
    const checks = { GetInput: check("get", errors) };
    const error = thrown(() => of("get", arrived({ path: { id: "x" } }), { checks }));
    expect(error.message).toContain("`id` must be integer in the input of get");
    expect(error).toMatchObject({
      code: "schema",
      protocol: "p",
      side: "client",
      subject: "get",
      flaws: [{ at: "/id", keyword: "type", params: { type: "integer" } }],
    });
  });

  test("is that of each operation, however many requests one table reads", () => {
    const read = unbinder(contract, accepts());
    for (let i = 0; i < 2; i++) {
      expect(read(["get"], arrived({ path: { id: `${i}` } }))).toEqual({ name: "get", input: { id: i } });
      expect(read(["line"], arrived({ path: { id: `${i}` } }))).toEqual({ name: "line", input: { id: i } });
    }
  });
});
