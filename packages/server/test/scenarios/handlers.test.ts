import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { expect, it } from "vitest";

const whole = { health: () => "OK", ready: () => "OK", listAgents: () => [], send: async function* () {} };
const { send: _, ...sendless } = whole;
// What JavaScript lets pass. The set-up of the tests lets handlers be missing, so each case says that none may.
const all = { partial: false };
it.each<[what: string, mistake: () => unknown, message: string]>([
  ["no contract", () => serve({} as never, {}), "serve needs a contract, such as"],
  ["no handlers", () => serve(foldGateway, undefined as never, all), "serve(fold-gateway) needs an object of handlers"],
  [
    "a missing handler",
    () => serve(foldGateway, sendless as never, all),
    "the handlers of fold-gateway: `send` is missing.",
  ],
  ["a channel's missing handler", () => serve(based, {} as never, all), "`session` is missing."],
  [
    "handlers that are no functions",
    () => serve(foldGateway, { ...whole, send: "x", ready: null } as never, { partial: true }),
    "`ready` must be a function, not object, `send` must be a function, not string",
  ],
])("serve with %s throws at once, and names it", (_, mistake, message) => {
  expect(mistake).toThrow(expect.objectContaining({ name: "TypeError", code: "usage" }));
  expect(mistake).toThrow(message);
});

it("an operation and a channel whose handlers are left out on purpose are answered with 501", async () => {
  const left = { name: "Refusal", status: 501, message: expect.stringContaining("is not offered here") };
  const gateway = connect(foldGateway, serve(foldGateway, sendless, { partial: true }));
  expect(await gateway.health()).toBe("OK");
  await expect(gateway.send({ content: "x" }).text()).rejects.toMatchObject(left);
  for (const resume of [true, false])
    await expect(connect(based, { ...serve(based, {}, { partial: true }), resume }).session()).rejects.toMatchObject(
      left,
    );
});
