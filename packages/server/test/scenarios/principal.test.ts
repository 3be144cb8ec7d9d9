import { foldGateway } from "@parlance/protocols/fold-gateway";
import { bearer, serve } from "@parlance/server";
import { expect, test } from "vitest";

test("a handler has the principal of its caller", async () => {
  const seen: unknown[] = [];
  const handlers = {
    health: (_: unknown, call: { readonly principal?: unknown }) => {
      seen.push(call.principal);
      return "OK";
    },
  };
  const ask = async (app: { fetch(request: Request): Promise<Response> }, token?: string) => {
    const request = new Request(`http://localhost${foldGateway.operations.health!.path}`);
    if (token !== undefined) request.headers.set("Authorization", `Bearer ${token}`);
    return (await app.fetch(request)).status;
  };
  const app = serve(foldGateway, handlers, {
    authenticate: bearer({ a: "Ann", b: { id: 7, name: "Bob" } }),
    partial: true,
  });
  expect([await ask(app, "a"), await ask(app, "b"), await ask(app, "c"), await ask(app)]).toEqual([200, 200, 401, 401]);
  expect(await ask(serve(foldGateway, handlers, { partial: true }))).toBe(200);
  expect(seen).toEqual(["Ann", { id: 7, name: "Bob" }, undefined]);
});
