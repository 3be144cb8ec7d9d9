import { type AnyContract, type Fault, Refusal } from "@parlance/wire";
import { fault, faultMessage, unfault, unfaultMessage } from "@parlance/wire/fault";
import { describe, expect, test } from "vitest";

const places = {
  text: ["/error/text", "/message"],
  code: ["/error/code", "/code"],
  details: ["/error/details"],
  recoverable: ["/error/again"],
};
const codes = {
  gone: { status: 404, recoverable: true },
  bad: { status: 400, generic: true },
  broken: { status: 500, generic: true },
  slow: { status: 429, generic: true },
};

const contractOf = (of: Partial<Fault>) =>
  ({
    name: "p",
    fault: { schema: "FaultBody", ...places, codes, ...of },
    messages: {
      failed: { schema: "FaultBody", fault: { text: ["/text"], code: ["/why"] }, shape: { const: { kind: "failed" } } },
      word: { schema: "Word" },
    },
    operations: { bare: {}, plain: { faults: { 404: { text: true }, 500: {} } } },
  }) as unknown as AnyContract;
const contract = contractOf({});

describe("A refusal", () => {
  test("has each of its facts in its place, beside the constants of its message, and is read back", () => {
    const refusal = new Refusal("no such pet", { code: "gone", details: { id: 1 } });
    const faulted = fault(contract, "plain", new Refusal("broken", { status: 500 }));
    expect(JSON.parse(faulted.body).error.text).toBe("broken");
    const { status, type, body } = fault(contract, undefined, refusal);
    expect([status, type]).toEqual([404, "application/json"]);
    expect(JSON.parse(body)).toEqual({
      kind: "failed",
      error: { text: "no such pet", code: "gone", details: { id: 1 }, again: true },
    });
    const read = unfault(contract, 404, body, 7);
    expect(read).toMatchObject({
      message: "no such pet",
      code: "gone",
      status: 404,
      details: { id: 1 },
      recoverable: true,
      retryAfter: 7,
    });
    expect(read.bare).toBeUndefined();
  });

  test("is plain text where its operation says so", () => {
    const refusal = new Refusal("no such pet", { status: 404 });
    expect(fault(contract, "plain", refusal)).toEqual({ status: 404, type: "text/plain", body: "no such pet" });
    for (const other of ["another", "bare"]) expect(fault(contract, other, refusal).type).toBe("application/json");
  });

  test.each([
    [{ code: "gone" }, 404, "gone"],
    [{ code: "gone", status: 410 }, 410, "gone"],
    [{ status: 429 }, 429, "slow"],
    [{ status: 404 }, 404, "bad"],
    [{ status: 499 }, 499, "bad"],
    [{ status: 500 }, 500, "broken"],
    [{ status: 503 }, 503, "broken"],
    [{ code: "unheard" }, 500, "broken"],
  ])("of %j is sent with %d and the code %s", (options, status, code) => {
    const sent = fault(contract, undefined, new Refusal("no", options));
    expect([sent.status, JSON.parse(sent.body).error.code]).toEqual([status, code]);
  });

  test("of a contract without generic codes keeps its own", () => {
    const sent = fault(
      contractOf({ codes: { gone: { status: 404 } } }),
      undefined,
      new Refusal("no", { code: "mine", status: 404 }),
    );
    expect(JSON.parse(sent.body).error).toMatchObject({ code: "mine" });
    const bare = fault(
      contractOf({ codes: undefined, code: undefined, details: undefined, recoverable: undefined }),
      undefined,
      new Refusal("no", { details: 1 }),
    );
    expect(JSON.parse(bare.body)).toEqual({ kind: "failed", error: { text: "no" } });
  });

  test.each([
    ['{"message":"no","code":"gone"}', { message: "no", code: "gone" }],
    ['{"error":{"text":7,"code":8,"again":"yes"},"message":"no"}', { message: "no", recoverable: undefined }],
    ['{"error":{"text":"a"},"message":"b"}', { message: "a" }],
    ["x".repeat(500), { message: "x".repeat(500), details: undefined }],
    ["x".repeat(501), { message: `${"x".repeat(500)}…`, details: { body: "x".repeat(501) } }],
    ["\n a\r\n\tb\u0000\n", { message: "a b", details: { body: "\n a\r\n\tb\u0000\n" } }],
    [
      "<html><title>Bad\nGateway</title>",
      { message: "Bad Gateway", details: { body: "<html><title>Bad\nGateway</title>" } },
    ],
    ["\n <html>", { message: "status 404", details: { body: "\n <html>" } }],
    [`["${"x".repeat(196)}"]`, { message: `["${"x".repeat(196)}"]`, details: undefined }],
    [`["${"x".repeat(197)}"]`, { message: "status 404", details: { body: `["${"x".repeat(197)}"]` } }],
    ['{"message":"a\\nb"}', { message: "a b", details: { body: "a\nb" } }],
    ['{"message":"a\\nb","error":{"details":{"c":1}}}', { message: "a b", details: { c: 1, body: "a\nb" } }],
    ["", { message: "status 404", bare: true }],
    [" ", { message: "status 404", bare: undefined }],
    ["[0]", { message: "status 404 without a reason" }],
    ["7", { message: "status 404 without a reason" }],
    ['["no"]', { message: '["no"]' }],
  ])("whose body is %j is read as %j", (body, expected) => {
    expect(unfault(contract, 404, body)).toMatchObject({ status: 404, ...expected });
  });
});

describe("A message of failure", () => {
  test("has the facts of a refusal, and is read back with the status of its code", () => {
    const message = faultMessage(contract, "failed", new Refusal("no", { code: "gone" }));
    expect(message).toEqual({ type: "failed", text: "no", why: "gone" });
    expect(unfaultMessage(contract, message)).toMatchObject({ message: "no", code: "gone", status: 404 });
    expect(unfaultMessage(contract, { type: "failed" })).toMatchObject({ message: "failed" });
    expect(unfaultMessage(contract, { type: "word" })).toBeUndefined();
    expect(unfaultMessage(contract, { type: "unheard" })).toBeUndefined();
  });

  test("is read by a contract without codes, and with a code that it does not have, without a status", () => {
    for (const codes of [undefined, { other: { status: 404 } }, { gone: {} } as never]) {
      const read = unfaultMessage(contractOf({ codes }), { type: "failed", text: "no", why: "gone" } as never)!;
      expect({ ...read, message: read.message }).toEqual({
        ...{ text: "no", code: "gone", status: undefined, details: undefined, recoverable: undefined },
        message: "no",
      });
    }
    expect(unfaultMessage(contract, { type: "failed", text: "", why: 7 } as never)).toMatchObject({
      message: "",
      status: undefined,
      code: "refused",
    });
  });

  test("cannot be one that reports none", () => {
    expect(() => faultMessage(contract, "unheard", new Refusal("no"))).toThrow("unheard does not say where");
    expect(() => faultMessage(contract, "word", new Refusal("no"))).toThrow("word does not say where its fault is");
  });
});
