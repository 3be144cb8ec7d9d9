import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, type ServeOptions, serve } from "@parlance/server";
import type { AnyContract } from "@parlance/wire";
import { expect, test, vi } from "vitest";

const BYTES = "application/octet-stream";
const call = {
  method: "POST",
  path: "/call",
  transfer: true,
  binary: BYTES,
  answer: { status: 200, text: "text/plain" },
};
const contract = { ...(foldGateway as unknown as AnyContract), operations: { call } } as never;

type Body = ReadableStream<Uint8Array>;
type Handler = (input: object, body: Body) => unknown;

const whole: Handler = (_, body) => new Response(body).text();

/** An app of one upload, and the answer to one request to it. */
function uploader(handler: Handler, options: ServeOptions = {}) {
  const called = vi.fn(handler);
  const app = serve(contract, { call: called } as never, { maxUploadSize: 10, onError: false, ...options }) as App;
  const send = async (body: BodyInit | null, headers: Record<string, string> = { "Content-Type": BYTES }) => {
    const init = { method: "POST", body, headers, duplex: "half" };
    const answer = await app.fetch(new Request("http://localhost/call", init));
    return [answer.status, answer.ok ? await answer.text() : ""] as const;
  };
  return { called, send };
}

/** A body of these pieces, that ends, is cut or stays open; why it was cancelled. */
function pieces(all: readonly string[], how: "ends" | "is cut" | "stays open" = "ends") {
  const cancel = vi.fn();
  const left = [...all];
  const stream = new ReadableStream({
    async pull(controller) {
      const piece = left.shift();
      if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      else if (how === "ends") controller.close();
      else if (how === "is cut") controller.error(new Error("cut"));
      else await new Promise(() => {});
    },
    cancel,
  });
  return { stream, cancel };
}

test("an upload of the type that its operation names reaches its handler, up to the limit", async () => {
  const { send } = uploader(whole);
  for (const [body, type] of [
    ["", BYTES],
    ["0123456789", BYTES],
    [pieces(["01234", "56789"]).stream, "Application/Octet-Stream; x=y"],
  ] as const)
    expect(await send(body, { "Content-Type": type })).toEqual([200, body === "" ? "" : "0123456789"]);
});

test.each<[what: string, body: () => BodyInit, headers: Record<string, string>, status: number]>([
  ["of another type", () => "x", { "Content-Type": "text/plain" }, 415],
  ["of no type", () => new TextEncoder().encode("x"), {}, 415],
  [
    "that names a length above the limit",
    () => pieces(["x"]).stream,
    { "Content-Type": BYTES, "Content-Length": "11" },
    413,
  ],
])("an upload %s is refused, and its handler is not called", async (_, body, headers, status) => {
  const { called, send } = uploader(whole);
  expect((await send(body(), headers))[0]).toBe(status);
  expect(called).not.toHaveBeenCalled();
});

test.each([
  ["grows above the limit", pieces(["01234", "567890"], "stays open"), 413],
  ["is cut", pieces(["01234"], "is cut"), 400],
  ["is silent for too long", pieces(["01234"], "stays open"), 408],
] as const)("an upload that %s errors for its handler, whose error answers", async (_, { stream, cancel }, status) => {
  let error: unknown;
  const { send } = uploader(
    async (_, body) => {
      try {
        return await new Response(body).text();
      } catch (caught) {
        error = caught;
        throw caught;
      }
    },
    { bodyWithin: 20 },
  );
  expect((await send(stream))[0]).toBe(status);
  expect(error).toMatchObject({ name: "Refusal", status });
  if (status !== 400) expect(cancel).toHaveBeenCalled();
});

test("what a handler does not read of an upload is cancelled with its answer", async () => {
  const { stream, cancel } = pieces(["01234"], "stays open");
  expect(await uploader(() => "done").send(stream)).toEqual([200, "done"]);
  await vi.waitFor(() => expect(cancel).toHaveBeenCalled());
});
