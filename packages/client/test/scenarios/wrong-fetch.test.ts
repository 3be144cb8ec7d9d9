import { type ConnectOptions, connect } from "@parlance/client";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, it } from "vitest";

const bytes = { get: { method: "GET", path: "/x", answer: { binary: "application/octet-stream" }, transfer: true } };
const files = { ...(foldGateway as unknown as AnyContract), operations: bytes } as never;

const carriers: Readonly<Record<string, readonly [type: string, call: (options: ConnectOptions) => Promise<unknown>]>> =
  {
    "an operation": ["application/json", (options) => connect(foldGateway, options).listAgents()],
    "a stream by POST": ["text/event-stream", (options) => first(connect(foldGateway, options).send({ content: "x" }))],
    "a stream by GET": [
      "text/event-stream",
      (options) => first(connect(emacsAgent, options).events({ session_id: "s" })),
    ],
    "a download": [
      "application/octet-stream",
      async (options) =>
        new Response(await connect<{ get(): Promise<ReadableStream<Uint8Array>> }>(files, options).get()).text(),
    ],
  };
const first = <M>(messages: AsyncIterable<M>) => messages[Symbol.asyncIterator]().next();

async function used(answer: Response): Promise<Response> {
  await answer.text();
  return answer;
}
function locked(answer: Response): Response {
  answer.body!.getReader();
  return answer;
}
const strings = () =>
  new ReadableStream({
    start(controller) {
      controller.enqueue("data: {}\n\n");
      controller.close();
    },
  });

type Make = (headers: Record<string, string>) => unknown;
const wrong: readonly (readonly [what: string, code: string, make: Make])[] = [
  ["a text", "unreachable", () => "text"],
  ["null", "unreachable", () => null],
  ["undefined", "unreachable", () => undefined],
  ["an object", "unreachable", () => ({})],
  ["an object with a status", "unreachable", () => ({ status: 200, ok: true })],
  ["Response.error()", "unreachable", () => Response.error()],
  ["a Response that was read", "unreachable", (headers) => used(new Response("[]", { headers }))],
  ["a Response that is being read", "unreachable", (headers) => locked(new Response("[]", { headers }))],
  ["a Response whose chunks are texts", "ended_early", (headers) => new Response(strings(), { headers })],
];

describe.each(Object.entries(carriers))("With %s, a fetch that resolves with", (_, [type, call]) => {
  it.each(wrong)("%s is Disconnected with %s and a cause", async (_, code, make) => {
    const fetch = async () => make({ "Content-Type": type }) as Promise<Response>;
    const error: unknown = await call({ fetch, retryWaits: [], resume: false }).catch((error: unknown) => error);
    expect(error).toMatchObject({ name: "Disconnected", code, cause: { name: "TypeError" } });
  });
});
