import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type Done, Refusal, type ServeOptions, serve } from "@parlance/server";
import { describe, expect, it, onTestFinished, vi } from "vitest";

function served(options: ServeOptions = {}) {
  const done: (readonly [operation: string, status: number])[] = [];
  const durations: number[] = [];
  const app = serve(
    foldGateway,
    {
      health: () => "OK",
      ready() {
        throw new Refusal("no agent", { status: 503 });
      },
      async *send() {
        yield { type: "done", full_response: "" };
      },
    },
    {
      ...options,
      partial: true,
      hooks: {
        ...options.hooks,
        done({ operation }, { status, duration }: Done) {
          done.push([operation, status]);
          durations.push(duration);
        },
      },
    },
  );
  onTestFinished(() => app.close());
  return { app, client: connect(foldGateway, { fetch: app.fetch, retryWaits: [] }), done, durations };
}

describe("hooks.done", () => {
  it("is called with the status and duration of each operation, also of a refused one", async () => {
    const { client, done, durations } = served();
    await client.health();
    await client.ready().catch(() => {});
    await client.listAgents().catch(() => {});
    expect(done).toEqual([
      ["health", 200],
      ["ready", 503],
      ["listAgents", 501],
    ]);
    expect(durations.every((duration) => duration >= 0 && duration < 60_000)).toBe(true);
  });

  it("is not called for a stream, nor for a request that is refused before its input is known", async () => {
    const { app, client, done } = served({ onError: false });
    await client.send({ content: "x" }).text();
    await app.fetch(new Request("http://localhost/nowhere"));
    await app.fetch(new Request("http://localhost/api/send", { method: "POST", body: "{" }));
    expect(done).toEqual([]);
  });

  it("changes nothing when it throws", async () => {
    const reported: unknown[] = [];
    const options: ServeOptions = { onError: (_, { source, operation }) => reported.push([source, operation]) };
    const app = serve(
      foldGateway,
      { health: () => "OK" },
      {
        ...options,
        partial: true,
        hooks: {
          done() {
            throw new Error("broken");
          },
        },
      },
    );
    expect(await connect(foldGateway, { fetch: app.fetch }).health()).toBe("OK");
    expect(reported).toEqual([["hooks.done", "health"]]);
  });
});

describe("An invalid message of a client", () => {
  const post = (body: object) =>
    new Request("http://localhost/api/send", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });

  it("is printed, once for each kind", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const { app } = served();
    for (const body of [{}, {}, { content: 1 }, { content: 2 }]) await app.fetch(post(body));
    expect(warn.mock.calls.map(([line]) => line)).toEqual([
      expect.stringMatching(/^@parlance\/server: send was refused, printed once: fold-gateway: .*content.* is missing/),
      expect.stringMatching(/^@parlance\/server: send was refused, printed once: fold-gateway: .*must be string/),
    ]);
  });

  it.each<[string, ServeOptions]>([
    ["onError", { onError: () => {} }],
    ["onError: false", { onError: false }],
    ["hooks.refuse", { hooks: { refuse() {} } }],
  ])("is not printed where the app has %s", async (_, options) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    await served(options).app.fetch(post({}));
    expect(warn).not.toHaveBeenCalled();
  });
});
