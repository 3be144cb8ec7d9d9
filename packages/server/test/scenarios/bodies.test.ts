import type { AnyContract, Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { readBody, refuseForm, uploadOf } from "../../src/http/body.js";
import type { HttpRequest } from "../../src/http/request.js";
import { LIMITS } from "../../src/limits.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const JSON_TYPE = "application/json";
const BYTES = "application/octet-stream";
const limits = { ...LIMITS, maxMessageSize: 10, maxUploadSize: 10, bodyWithin: 1000 };
const contract = { name: "p" } as AnyContract;
const bytes = (text: string) => new TextEncoder().encode(text);

type Piece = Uint8Array | Error | "never" | "later";

/** A request whose body comes in pieces: at once, in a later turn, never, or with a failure. */
function requestOf(pieces: readonly (Piece | string)[] | undefined, headers: Record<string, string>) {
  const cancel = vi.fn();
  const left = [...(pieces ?? [])];
  const request = {
    headers: new Headers(headers),
    body: () =>
      pieces && {
        read() {
          const piece = left.shift();
          if (piece instanceof Error) return Promise.reject(piece);
          if (piece === "never") return new Promise<never>(() => {});
          return typeof piece === "string" ? Promise.resolve(bytes(piece)) : piece;
        },
        cancel,
      },
  } as unknown as HttpRequest;
  return { request, cancel };
}

function scopeOf() {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  return root.child();
}

async function outcome(promise: Promise<unknown>, after = 0): Promise<unknown> {
  const settled = promise.catch(({ name, status, code, message }: Refusal) => ({ name, status, code, message }));
  await vi.advanceTimersByTimeAsync(after);
  return settled;
}

const received = { add() {}, set() {}, moveTo() {} };

describe("A JSON body", () => {
  const read = (pieces: readonly (Piece | string)[] | undefined, headers = {}, call = scopeOf()) => {
    const { request, cancel } = requestOf(pieces, { "Content-Type": JSON_TYPE, ...headers });
    return { cancel, body: readBody({ contract, limits }, request, "send", received, call) };
  };

  test.each<[pieces: (Piece | string)[], value: unknown]>([
    [['{"a":"é"}'], { a: "é" }],
    [[bytes('{"a":"é"}')], { a: "é" }],
    [['{"a":', '"', "b", '"}'], { a: "b" }],
    // A character in two pieces.
    [[bytes('["é"]').slice(0, 3), bytes('["é"]').slice(3)], ["é"]],
    [["[1,2,3,45]"], [1, 2, 3, 45]],
    [["", "7", ""], 7],
  ])("of the pieces %j is read as one", async (pieces, value) => {
    const { body, cancel } = read(pieces);
    expect(await body).toEqual(value);
    expect(cancel).not.toHaveBeenCalled();
  });

  test.each<
    [what: string, pieces: (Piece | string)[], headers: Record<string, string>, status: number, message: string]
  >([
    ["is announced as too long", ["7"], { "Content-Length": "11" }, 413, "the body is over the limit of 10 bytes"],
    ["is too long", ["[1,2,3,456]"], {}, 413, "the body is over the limit of 10 bytes"],
    ["becomes too long", ["[1,2,", "3,456]", "never"], {}, 413, "the body is over the limit of 10 bytes"],
    ["is cut", ["[1,", new Error("reset")], {}, 400, "the body was cut"],
    ["is no UTF-8", [new Uint8Array([34, 0xff, 34])], {}, 400, "the body is not UTF-8"],
    ["is no UTF-8 as a whole", [bytes("é").slice(0, 1), "x"], {}, 400, "the body is not UTF-8"],
    [
      "has another type",
      ["7"],
      { "Content-Type": "text/plain" },
      415,
      "the body of send is application/json, not text/plain",
    ],
    [
      "is compressed",
      ["7"],
      { "Content-Encoding": "GZIP" },
      415,
      "the body of send is sent without Content-Encoding, not as gzip",
    ],
    [
      "has another charset",
      ["7"],
      { "Content-Type": `${JSON_TYPE}; charset="latin1"` },
      415,
      "the body of send is UTF-8, not latin1",
    ],
  ])("that %s is refused", async (_, pieces, headers, status, message) => {
    const { body, cancel } = read(pieces, headers);
    expect(await outcome(body)).toMatchObject({ name: "Refusal", status, message });
    // The rest of what was begun is dropped.
    expect(cancel.mock.calls.length).toBe(/long|cut/.test(_) && !_.includes("announced") ? 1 : 0);
  });

  test("without a type is refused, and so is none at all", async () => {
    const { request } = requestOf(["7"], {});
    const untyped = readBody({ contract, limits }, request, "send", received, scopeOf());
    expect(await outcome(untyped)).toMatchObject({
      status: 415,
      message: "the body of send is application/json, not without a type",
    });
    expect(await outcome(read(undefined).body)).toMatchObject({ name: "Violation", code: "malformed_json" });
  });

  test.each([
    { "Content-Type": `${JSON_TYPE};charset=UTF-8` },
    { "Content-Type": `Application/JSON ; a=b; charset = "utf8"` },
    { "Content-Encoding": " Identity " },
    { "Content-Length": "10" },
  ])("with %j is read", async (headers) => expect(await read(["7"], headers).body).toBe(7));

  test("has its time for each piece, and is refused after it", async () => {
    const { body, cancel } = read(["[1,", "never"]);
    const late = outcome(body, 999);
    await vi.advanceTimersByTimeAsync(0);
    expect(cancel).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await late).toMatchObject({ name: "Refusal", status: 408, message: "the body did not arrive in time" });
    expect([cancel.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("fails with its call, for that one's reason", async () => {
    const call = scopeOf();
    const { body, cancel } = read(["never"], {}, call);
    const gone = new Error("gone");
    const failed = body.catch((error: unknown) => error);
    call.close(gone);
    expect(await failed).toBe(gone);
    expect(cancel).toHaveBeenCalledOnce();
  });
});

describe("An upload", () => {
  const upload = (pieces: readonly (Piece | string)[] | undefined, headers = {}, call = scopeOf()) => {
    const { request, cancel } = requestOf(pieces, { "Content-Type": BYTES, ...headers });
    return { cancel, call, body: uploadOf(request, BYTES, "put", limits, call) };
  };
  const text = (body: ReadableStream<Uint8Array>) => new Response(body).text();

  test("is read as it came, up to its limit", async () => {
    expect(await text(upload(["12345", "67890"]).body)).toBe("1234567890");
    expect(
      await text(upload(["1"], { "Content-Type": `${BYTES.toUpperCase()}; a=b`, "Content-Length": "10" }).body),
    ).toBe("1");
    expect(await text(upload(undefined).body)).toBe("");
  });

  test.each<[pieces: (Piece | string)[], status: number]>([
    [["12345", "678901"], 413],
    [["1", new Error("reset")], 400],
    [["1", "never"], 408],
  ])("of the pieces %j errors with %i, and drops the rest", async (pieces, status) => {
    const { body, cancel } = upload(pieces);
    expect(await outcome(text(body), 1000)).toMatchObject({ name: "Refusal", status });
    expect(cancel).toHaveBeenCalledOnce();
  });

  test.each([
    [{ "Content-Type": "text/plain" }, 415, `the body of put is ${BYTES}, not text/plain`],
    [{ "Content-Type": "" }, 415, `the body of put is ${BYTES}, not`],
    [{ "Content-Length": "11" }, 413, "the body is over the limit of 10 bytes"],
  ])("with %j is not begun", (headers, status, message) => {
    expect(() => upload(["1"], headers)).toThrow(
      expect.objectContaining({ status, message: expect.stringContaining(message) }),
    );
  });

  test("that is left, or outlives its call, is dropped", async () => {
    const left = upload(["1", "2"]);
    await left.body.cancel();
    expect(left.cancel).toHaveBeenCalledOnce();
    const unread = upload(["1", "2"]);
    unread.call.close();
    expect(unread.cancel).toHaveBeenCalledOnce();
  });
});

test("an operation without a body refuses what a page could send without a preflight", () => {
  const refused = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
  for (const type of refused)
    expect(() => refuseForm(requestOf([], { "Content-Type": type }).request, "get")).toThrow(
      expect.objectContaining({ status: 415, message: `get takes no body, and none of ${type.split(";")[0]}` }),
    );
  for (const headers of [{}, { "Content-Type": JSON_TYPE }, { "Content-Type": "Application/Json; charset=x" }])
    expect(() => refuseForm(requestOf([], headers as Record<string, string>).request, "get")).not.toThrow();
});
