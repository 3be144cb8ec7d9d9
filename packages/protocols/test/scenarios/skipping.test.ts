import { type AnyMessage, codec, Violation } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { memorySchema } from "../../../language/src/schema.js";
import { sample } from "../../../language/test/sample.js";
import { subjects } from "../contracts.js";

// A long-lived stream outlives a message that breaks its schema: reading one is a message, an unknown one, or a `Violation` that may be skipped.

const hostile = [null, 7, "x", [], {}, [null], { a: null }, { content: [] }];

/** The body with each of its places, two levels deep, replaced by each hostile value or left out. */
function* spoiled(body: unknown, depth = 0): Generator<unknown> {
  yield* hostile;
  if (typeof body !== "object" || body === null || depth === 2) return;
  for (const [key, inner] of Object.entries(body)) {
    const { [key]: _, ...others } = body as Record<string, unknown>;
    yield others;
    for (const value of spoiled(inner, depth + 1))
      yield Array.isArray(body) ? body.map((one, i) => (String(i) === key ? value : one)) : { ...body, [key]: value };
  }
}

describe.each(subjects)("$contract.name", ({ contract, document, accepts }) => {
  it("reads every spoiled message without any error but a Violation, which names the protocol and the side", () => {
    const { checks, reads } = contract;
    const directions = [
      ...Object.values(contract.operations).flatMap(({ answer: { stream } }) =>
        stream ? [{ side: "server" as const, names: stream.messages, checks, reads }] : [],
      ),
      ...Object.values(contract.channels).flatMap(({ client, server }) => [
        { side: "client" as const, names: client, ...accepts },
        { side: "server" as const, names: server, checks, reads },
      ]),
    ];
    const read = { messages: 0, unknown: 0, violations: 0 };
    for (const direction of directions) {
      const { encode, decode } = codec(contract, direction);
      for (const name of direction.names) {
        const [message] = sample(document, memorySchema(document, name), {
          seed: 1,
          count: 1,
        }) as unknown as AnyMessage[];
        const { event, data } = encode(message!);
        for (const body of spoiled(JSON.parse(data))) {
          try {
            const found = decode({ event, data: JSON.stringify(body) });
            read["unknown" in found ? "unknown" : "messages"]++;
          } catch (error) {
            if (!(error instanceof Violation)) throw error;
            expect(error).toMatchObject({ protocol: contract.name, side: direction.side });
            read.violations++;
          }
        }
      }
    }
    expect(Math.min(read.violations, read.messages + read.unknown)).toBeGreaterThan(5);
  });
});
