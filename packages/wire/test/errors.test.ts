import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import type { Refusal } from "@parlance/wire";
import { expect, it } from "vitest";

const copy = "../src/errors.ts?copy";
const there: { Refusal: typeof Refusal } = await import(/* @vite-ignore */ copy);

it("a handler and a token function refuse with the Refusal of another copy", async () => {
  const refusal = () => Promise.reject(new there.Refusal("no such agent", { status: 404 }));
  const app = serve(foldGateway, { health: refusal } as never);
  const { fetch } = app;
  await expect(connect(foldGateway, { fetch }).health()).rejects.toMatchObject({ status: 404, name: "Refusal" });
  const refused = connect(foldGateway, { fetch, token: refusal }).health();
  await expect(refused).rejects.toMatchObject({ message: "no such agent", status: 404 });
});
