import { type AnyMessage, type Json, type Side, tag } from "@parlance/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { namePlainly, readPlainly } from "../../../language/src/reads.js";
import { memorySchema } from "../../../language/src/schema.js";
import { sample } from "../../../language/test/sample.js";
import { namer } from "../../../wire/src/tag.js";
import { subjects } from "../contracts.js";

const seed = 20261122;

describe.each(subjects)(`Of $contract.name, with seed ${seed},`, ({ contract, document, accepts }) => {
  const names = Object.keys(contract.messages);
  const rules = document.contract.reading ?? [];
  /** What one side writes, in contract order. */
  const namesOf = (side: Side) => {
    const written = [
      ...Object.values(contract.channels).flatMap((channel) => channel[side]),
      ...Object.values(contract.operations).flatMap(
        ({ answer }) => (side === "server" && answer.stream?.messages) || [],
      ),
    ];
    return names.filter((name) => written.includes(name));
  };
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

  describe.each([
    ["server", contract.reads],
    ["client", accepts.reads],
  ] as const)("what the %s writes", (side, reads) => {
    const readers = [
      [undefined, reads.message],
      ...Object.keys({ ...contract.operations, ...contract.channels }).map(
        (operation) => [operation, reads.operations?.[operation]] as const,
      ),
    ] as const;

    it("is read by the generated code as by the rules", () => {
      for (const [operation, read] of readers) {
        const plain = rules.filter((rule) => rule.of === side && rule.operation === operation);
        expect(read === undefined, operation).toBe(plain.length === 0);
        for (const body of read ? bodies : [])
          expect(read!(structuredClone(body)), JSON.stringify([operation, body])).toEqual(
            plain.reduce<unknown>(readPlainly, structuredClone(body)),
          );
      }
    });

    it("is named by the generated code as by the tags", () => {
      const names = namesOf(side);
      const nameOf = namer(contract, reads);
      for (const body of bodies)
        for (const event of [undefined, ...names.slice(0, 2)]) {
          const name = nameOf(event, body);
          expect(names.includes(name as string) ? name : undefined, JSON.stringify([event, body])).toBe(
            namePlainly(contract, names, event, body),
          );
        }
    });
  });
});
