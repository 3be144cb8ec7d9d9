import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, bearer, type ServeOptions, type Stats, serve } from "@parlance/server";
import { expect } from "vitest";

// What a server holds, row by row as docs/limits.md lists it: each has a limit, and a gauge that is zero again.

export const options = (more: ServeOptions): ServeOptions & { readonly partial: true } => ({
  authenticate: bearer({ t: "ann" }),
  heartbeat: 0,
  onError: false,
  ...more,
  partial: true,
});
export const TOKEN = { Authorization: "Bearer t" };
export const post = (app: App, path: string, body: object, headers: Record<string, string> = {}) =>
  app.fetch(
    new Request(`http://localhost${path}`, {
      method: "POST",
      headers: { ...TOKEN, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  );
export const get = (app: App, path: string, headers: Record<string, string> = {}, method = "GET") =>
  app.fetch(new Request(`http://localhost${path}`, { method, headers: { ...TOKEN, ...headers } }));
// Taken before a test puts a false clock in its place.
const { setTimeout: pause } = globalThis;
/** Waits for a gauge. A false clock stands still meanwhile: `vi.waitFor` and `expect.poll` would advance it. */
export async function gauge(app: App, name: keyof Stats, value: number): Promise<void> {
  for (let looks = 0; looks < 2000 && app.stats()[name] !== value; looks++)
    await new Promise((resolve) => pause(resolve, 5));
  expect([name, app.stats()[name]]).toEqual([name, value]);
}
export const isRefused = async (answer: Response, status: number, option: string) => {
  expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(`(option ${option})`)]);
  expect(answer.headers.get("Retry-After")).toBe("1");
};

/** A gateway whose handlers wait until they are released. */
export function gateway(more: ServeOptions) {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const app = serve(
    foldGateway,
    {
      async listAgents() {
        await released;
        return [];
      },
      async *send({ content }) {
        yield { type: "text", text: content.slice(0, 1) };
        if (content.startsWith("wait")) await released;
        yield { type: "done", full_response: "" };
      },
    },
    options(more),
  );
  return { app, release };
}
