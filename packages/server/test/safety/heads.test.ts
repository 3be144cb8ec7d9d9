import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { coven } from "@parlance/protocols/coven";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { double } from "@parlance/server/testing";
import type { AnyContract } from "@parlance/wire";
import { expect, it, onTestFinished, vi } from "vitest";
import { ask } from "./raw.js";

const contracts = [agentsmithy, agentsmithy1_13, coven, emacsAgent, foldGateway, loco] as unknown as AnyContract[];
const reads = contracts.flatMap((contract) =>
  Object.entries(contract.operations)
    .filter(([, { method }]) => method === "GET")
    .map(([name, { path, answer }]) => ({
      contract,
      name,
      path: path.replace(/\{\w+\}/g, "1"),
      isStream: answer.stream !== undefined,
    })),
);

it("knows operations and streams that are read with GET", () => {
  expect(reads.filter(({ isStream }) => isStream).length).toBeGreaterThan(0);
  expect(reads.filter(({ isStream }) => !isStream).length).toBeGreaterThan(20);
});

it.each(reads)(
  "answers HEAD of $contract.name.$name as GET, without its body",
  async ({ contract, path, isStream }) => {
    const app = double(contract as never, {}, { onError: false });
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const head = await ask(server.url, { method: "HEAD", path });
    expect(head.text).toBe("");
    if (isStream) {
      expect([head.status, head.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
      expect(app.asked).toEqual([]);
      return;
    }
    const get = await ask(server.url, { path });
    const { date: _, ...headers } = get.headers;
    expect({ status: head.status, headers: head.headers }).toMatchObject({ status: get.status, headers });
  },
);

/** A contract in which GETs decide asks and end sessions, and one answers bytes. */
const effects = {
  ...foldGateway,
  operations: {
    ...foldGateway.operations,
    download: { method: "GET", path: "/download", answer: { status: 200, binary: "application/zip" } },
    leave: { method: "GET", path: "/leave", answer: { status: 204 } },
  },
} as unknown as AnyContract;

it("releases the bytes that a HEAD is not sent", async () => {
  const cancel = vi.fn();
  const download = () => new ReadableStream({ cancel });
  const app = serve(effects as never, { download } as never, { partial: true });
  const answer = await app.fetch(new Request("http://localhost/download", { method: "HEAD" }));
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, "application/zip"]);
  expect(cancel).toHaveBeenCalledTimes(1);
});

it("runs no handler of a HEAD whose GET would decide an ask or end a session", async () => {
  const handler = vi.fn();
  const { send } = effects.operations as Record<string, { answer: { stream: object } }>;
  const of = (operations: object, more: object) => ({
    ...effects,
    operations: { ...effects.operations, ...operations },
    ...more,
  });
  const contracts = [
    of({ send: { ...send, answer: { ...send!.answer, stream: { ...send!.answer.stream, closedBy: "leave" } } } }, {}),
    of({}, { exchanges: [{ ask: "text", answers: [{ operation: "leave" }] }] }),
  ];
  for (const contract of contracts) {
    const app = serve(contract as never, { leave: handler } as never, { partial: true });
    const answer = await app.fetch(new Request("http://localhost/leave", { method: "HEAD" }));
    expect([answer.status, handler.mock.calls]).toEqual([204, []]);
  }
});

it("refuses a HEAD as its GET, and lists it among the methods of a path", async () => {
  const refuse = () => {
    throw new Refusal("not ready", { status: 503, retryAfter: 3 });
  };
  const app = serve(foldGateway, { ready: refuse } as never, { partial: true, onError: false });
  const at = (method: string, path: string) => app.fetch(new Request(`http://localhost${path}`, { method }));
  const [get, head] = [await at("GET", "/health/ready"), await at("HEAD", "/health/ready")];
  expect([head.status, await head.text()]).toEqual([503, ""]);
  expect(Object.fromEntries(head.headers)).toEqual({
    ...Object.fromEntries(get.headers),
    "content-length": String((await get.text()).length),
  });
  expect((await at("HEAD", "/nothing")).status).toBe(404);
  const post = await at("HEAD", "/api/send");
  expect([post.status, post.headers.get("Allow")]).toEqual([405, "POST"]);
  expect((await at("PUT", "/health")).headers.get("Allow")).toBe("GET, HEAD");
});
