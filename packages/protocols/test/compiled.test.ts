import type { Json } from "@parlance/contract";
import { memorySchema } from "@parlance/language/schema";
import { type AnyMessage, reader, tag, untagger } from "@parlance/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sample } from "../../language/test/sample.js";
import { namePlainly, readPlainly } from "../../wire/test/plain.js";
import { subjects } from "./contracts.js";

const seed = 20261122;

describe.each(subjects)(`Of $contract.name, with seed ${seed},`, ({ contract, document }) => {
  const names = Object.keys(contract.messages);
  const rules = contract.reading ?? [];
  const written = names.flatMap((name) =>
    (sample(document, memorySchema(document, name), { seed, count: 4 }) as unknown as AnyMessage[]).map((message) =>
      tag(contract, message, contract.profile && "bare"),
    ),
  );
  // What the tags and the rules look at, and values of both: a body has any of them anywhere.
  const shapes = names.map((name) => contract.messages[name]!.shape ?? {});
  const keys = [
    ...(contract.tag.in === "property" ? [contract.tag.property] : []),
    ...shapes.flatMap((shape) => [
      ...Object.keys(shape.const ?? {}),
      ...(shape.required ?? []),
      ...(shape.forbidden ?? []),
    ]),
    ...rules.flatMap((rule) => JSON.stringify(rule).match(/(?<=\/)[\w.]+/g) ?? []),
    ...rules.flatMap((rule) => Object.values(rule.rename ?? {})),
  ];
  const values: readonly Json[] = [
    ...["text", null, true, 0],
    ...names,
    ...shapes.flatMap((shape) => Object.values(shape.const ?? {})),
    ...rules.flatMap((rule) => [
      ...Object.values(rule.where ?? {}),
      ...Object.values(rule.values ?? {}).flatMap((pairs) => pairs.map(([said]) => said)),
    ]),
  ];
  const { body } = fc.letrec<{ body: Json; value: Json }>((tie) => ({
    body: fc.dictionary(fc.constantFrom(...keys, "other"), tie("value"), { maxKeys: 5 }) as fc.Arbitrary<Json>,
    value: fc.oneof(
      { depthSize: "small" },
      { arbitrary: fc.constantFrom(...values), weight: 4 },
      tie("body"),
      fc.array(tie("value"), { maxLength: 3 }) as fc.Arbitrary<Json>,
    ),
  }));
  const bodies = [...written.map(({ body }) => body), ...fc.sample(body, { seed, numRuns: 1500 })] as Record<
    string,
    Json
  >[];

  it("a compiled rule reads every body as its plain form does", () => {
    for (const rule of rules)
      for (const body of bodies)
        expect(reader([rule], () => true)!(structuredClone(body))).toEqual(readPlainly(structuredClone(body), rule));
  });

  it("a compiled tag names every frame as its plain form does", () => {
    const untag = untagger(contract, names);
    for (const body of bodies)
      for (const event of [undefined, ...names.slice(0, 2)])
        expect(untag({ event, body: structuredClone(body) })?.type, JSON.stringify([event, body])).toBe(
          namePlainly(contract, names, event, body),
        );
  });
});
