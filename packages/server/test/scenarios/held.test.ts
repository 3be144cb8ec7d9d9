import { connect as dial } from "node:net";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type ServeOptions, type Stats, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { type Bytes, newKey, RESUME } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { gateway, gauge, get, isRefused, options, post, TOKEN } from "../held-fixture.js";

const MI = 1024 * 1024;

describe("calls", () => {
  it("are limited for a principal", async () => {
    const { app, release } = gateway({ maxCalls: 2 });
    const open = [1, 2].map(() => get(app, "/api/agents"));
    await gauge(app, "calls", 2);
    await isRefused(await get(app, "/api/agents"), 429, "maxCalls");
    release();
    for (const answer of open) expect((await answer).status).toBe(200);
    await gauge(app, "calls", 0);
  });

  it.each([
    ["too many", 65, false],
    ["some behind a stream whose connection is then closed", 40, true],
  ])("of one connection end with it: %s", async (_, count, closes) => {
    let running = 0;
    let begun = 0;
    const app = serve(
      foldGateway,
      {
        async *send(_, { signal }) {
          running++;
          begun++;
          try {
            yield { type: "text", text: "x".repeat(1000) };
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          } finally {
            running--;
          }
        },
      },
      options({ authenticate: undefined as never, heartbeat: 60_000 }),
    );
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    const socket = dial(server.port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    const body = '{"content":"x"}';
    const one = `POST /api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    // One by one, so that Node sees answers that wait before the next request.
    for (let i = 0; i < count; i++) {
      socket.write(one);
      if (closes) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    if (closes) {
      await vi.waitFor(() => expect(begun).toBeGreaterThan(0));
      socket.destroy();
    }
    await gauge(app, "calls", 0);
    await vi.waitFor(() => expect(running).toBe(0));
  });
});

describe("bodies and inputs", () => {
  const large = { content: `wait${"x".repeat(600)}` };

  it.each([
    ["of a principal", { maxReceived: 1000 }, 429, "maxReceived"],
    ["of all together", { maxTotalReceived: 1000 }, 503, "maxTotalReceived"],
  ])("are limited until their handlers are done: %s", async (_, limits, status, option) => {
    const { app, release } = gateway(limits);
    const first = await post(app, "/api/send", large);
    expect(app.stats().received).toBeGreaterThan(600);
    await isRefused(await post(app, "/api/send", large), status, option);
    release();
    await first.text();
    await gauge(app, "received", 0);
    expect((await post(app, "/api/send", { content: "x" })).status).toBe(200);
  });

  it("of many small values count by their memory", async () => {
    const { app, release } = gateway({ maxReceived: 5000 });
    expect((await post(app, "/api/send", { content: "wait", more: "x".repeat(2000) })).status).toBe(200);
    await isRefused(await post(app, "/api/send", { content: "wait", more: Array(300).fill({}) }), 429, "maxReceived");
    release();
    await gauge(app, "received", 0);
  });

  it("are let go where the handler is done, though its stream waits for a reader", async () => {
    const { app, release } = gateway({ grace: 60_000 });
    const answer = await post(app, "/api/send", large, { [RESUME]: newKey() });
    await answer.body!.cancel();
    expect(app.stats().received).toBeGreaterThan(600);
    release();
    await gauge(app, "kept", 1);
    expect(app.stats()).toMatchObject({ received: 0, streams: 0, calls: 0 });
  });
});

describe("answers that nobody reads", () => {
  const name = "x".repeat(20_000);
  const large = (begun: () => void) => ({
    listAgents() {
      begun();
      return [{ id: "1", name, capabilities: [] }];
    },
  });

  it.each([
    ["of a principal", { maxHeld: 30_000 }, 429, "maxHeld"],
    ["of all together", { maxTotalHeld: 30_000 }, 503, "maxTotalHeld"],
  ])("are limited, before a handler is called: %s", async (_, limits, status, option) => {
    let begun = 0;
    const app = serve(
      foldGateway,
      large(() => void begun++),
      options(limits),
    );
    // The call of an adapter is open until its answer is written.
    const calls = [1, 2].map(() => app.open());
    const listed = () => new Request("http://localhost/api/agents", { headers: TOKEN });
    for (const call of calls) expect((await app.answer(listed(), call)).status).toBe(200);
    expect(app.stats().held).toBeGreaterThan(2 * name.length);
    await isRefused(await app.fetch(listed()), status, option);
    expect(begun).toBe(2);
    for (const call of calls) call.close();
    await gauge(app, "held", 0);
    expect((await app.fetch(listed())).status).toBe(200);
  });

  it("are made by so many handlers at a time; further calls wait, and leave with their callers", async () => {
    const releases: (() => void)[] = [];
    const handlers = {
      async listAgents() {
        await new Promise<void>((resolve) => releases.push(resolve));
        return [{ id: "1", name, capabilities: [] }];
      },
    };
    const app = serve(foldGateway, handlers, options({ maxHandlers: 2 }));
    const list = (call: Scope) =>
      app.answer(new Request("http://localhost/api/agents", { headers: TOKEN }), call).then(({ status }) => status);
    const calls = [1, 2, 3, 4].map(() => app.open());
    const answers = calls.map(list);
    await vi.waitFor(() => expect(releases).toHaveLength(2));
    calls[2]!.close();
    expect(await answers[2]).toBe(499);
    releases[0]!();
    await vi.waitFor(() => expect(releases).toHaveLength(3));
    for (const release of releases) release();
    expect([await answers[0], await answers[1], await answers[3]]).toEqual([200, 200, 200]);
    for (const call of calls) call.close();
    await gauge(app, "held", 0);
  });

  it("are limited where their handlers end together, and then not to be asked for again", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = 0;
    const handlers = {
      async listAgents() {
        begun++;
        await released;
        return [{ id: "1", name, capabilities: [] }];
      },
    };
    const app = serve(foldGateway, handlers, options({ maxHeld: 30_000 }));
    const calls = [1, 2, 3].map(() => app.open());
    const answers = calls.map((call) =>
      app.answer(new Request("http://localhost/api/agents", { headers: TOKEN }), call),
    );
    await vi.waitFor(() => expect(begun).toBe(3));
    release();
    const found = await Promise.all(answers);
    expect(found.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    expect(found.find(({ status }) => status === 429)!.headers).not.toHaveProperty("Retry-After");
    for (const call of calls) call.close();
    await gauge(app, "held", 0);
  });
});

describe("answers of bytes that nobody reads", () => {
  const contract = {
    ...foldGateway,
    operations: {
      ...foldGateway.operations,
      listAgents: { ...foldGateway.operations.listAgents, answer: { status: 200, binary: "application/octet-stream" } },
    },
  } as unknown as typeof foldGateway;
  const bytes = new Uint8Array(20_000);
  const chunks = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(bytes),
    });

  it.each<[what: string, make: () => Bytes, limits: ServeOptions, gauge: keyof Stats, status: number, option: string]>([
    ["a Uint8Array", () => bytes, { maxHeld: 30_000 }, "held", 429, "maxHeld"],
    ["a Blob", () => new Blob([bytes]), { maxTotalHeld: 30_000 }, "held", 503, "maxTotalHeld"],
    ["a stream", chunks, { maxStreams: 2 }, "places", 429, "maxStreams"],
  ])("are limited: %s", async (_, make, limits, name, status, option) => {
    const handlers = { listAgents: () => make() } as unknown as FoldGatewayHandlers;
    const app = serve(contract, handlers, options(limits));
    const calls = [1, 2, 3].map(() => app.open());
    const answers = await Promise.all(
      calls.map((call) => app.answer(new Request("http://localhost/api/agents", { headers: TOKEN }), call)),
    );
    // Which of them comes last is not decided.
    const refused = answers.find((answer) => answer.status !== 200)!;
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 200, status]);
    expect(refused.body).toContain(`(option ${option})`);
    expect(app.stats()[name]).toBeGreaterThan(0);
    for (const call of calls) call.close();
    await gauge(app, name, 0);
  });
});

describe("text of streams that nobody reads", () => {
  it.each([
    ["plain", {}],
    ["resumable", { [RESUME]: newKey() }],
  ])("is counted until its reader has it: %s", async (_, headers) => {
    const handlers: Partial<FoldGatewayHandlers> = {
      async *send() {
        for (let i = 0; i < 2; i++) yield { type: "text", text: "x".repeat(MI) };
        yield { type: "done", full_response: "" };
      },
    };
    const app = serve(foldGateway, handlers as FoldGatewayHandlers, options({}));
    const { body } = await post(app, "/api/send", { content: "x" }, headers);
    await vi.waitFor(() => expect(app.stats().held).toBeGreaterThan(MI));
    await new Response(body).text();
    await gauge(app, "held", 0);
  });
});
