import { readFileSync } from "node:fs";
import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { Disconnected, Refusal, Violation } from "@parlance/wire";
import { expect, it } from "vitest";

// A process may load both builds of a package, or two versions of it: each has error classes of its own.
const here = { Disconnected, Refusal, Violation };
const copy = "../src/errors.ts?copy";
const there: typeof here = await import(/* @vite-ignore */ copy);

const details = {
  Refusal: { status: 404 },
  Violation: { code: "schema", protocol: "p", side: "server" },
  Disconnected: { code: "closed", retryable: true },
} as const;
const kinds = Object.keys(details) as (keyof typeof details)[];
// biome-ignore lint/suspicious/noExplicitAny: three constructors as one
const make = (copy: any, kind: keyof typeof details): Error => new copy[kind]("it failed", details[kind]);

it("the table has every error class of the module", () => {
  const source = readFileSync(new URL("../src/errors.ts", import.meta.url), "utf8");
  expect([...source.matchAll(/^export class (\w+)/gm)].map(([, name]) => name)).toEqual(kinds);
});

it.each(kinds)("a %s of another copy is one, and none of the other kinds", (kind) => {
  expect(there[kind]).not.toBe(here[kind]);
  for (const copy of [here, there])
    for (const other of kinds) {
      expect(make(copy, kind) instanceof here[other]).toBe(kind === other);
      expect(make(copy, kind) instanceof there[other]).toBe(kind === other);
    }
  expect(make(there, kind)).toBeInstanceOf(Error);
});

it.each(kinds)("nothing else is a %s, by its name or its fields", (kind) => {
  const alike = Object.assign(new Error("it failed"), { name: kind, ...details[kind] });
  for (const value of [alike, { name: kind }, null, undefined, kind, 404, {}, there[kind]])
    expect((value as unknown) instanceof here[kind]).toBe(false);
});

it("a class that extends one has instances of its own only", () => {
  class NotFound extends here.Refusal {}
  expect(new NotFound("x") instanceof here.Refusal).toBe(true);
  expect(new NotFound("x") instanceof there.Refusal).toBe(true);
  expect(new NotFound("x") instanceof NotFound).toBe(true);
  expect(new here.Refusal("x") instanceof NotFound).toBe(false);
});

it("a handler and a token function refuse with the Refusal of another copy", async () => {
  const refusal = () => Promise.reject(new there.Refusal("no such agent", { status: 404 }));
  const app = serve(foldGateway, { health: refusal } as never);
  const { fetch } = app;
  await expect(connect(foldGateway, { fetch }).health()).rejects.toMatchObject({ status: 404, name: "Refusal" });
  const refused = connect(foldGateway, { fetch, token: refusal }).health();
  await expect(refused).rejects.toMatchObject({ message: "no such agent", status: 404 });
});
