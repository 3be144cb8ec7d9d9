import {
  type AnyMessage,
  bind,
  codec,
  encode,
  fault,
  faultMessage,
  type Input,
  messageEncoder,
  Refusal,
  router,
  unbind,
  unfault,
  unfaultMessage,
} from "@parlance/wire";
import { brief } from "@parlance/wire/errors";
import { describe, expect, it } from "vitest";
import { inputSchema, memorySchema } from "../../../language/src/schema.js";
import { sample } from "../../../language/test/sample.js";
import { chunkings, hear, utf8 } from "../../../wire/test/chunkings.js";
import { subjects } from "../contracts.js";

/** Printed in every title, so that a failure says what to run again. */
const seed = 20261121;
const count = 12;

for (const { contract, document, accepts } of subjects) {
  describe(`Of ${contract.name}, with seed ${seed},`, () => {
    const directions = [
      ...Object.values(contract.operations).flatMap(({ answer: { stream } }) =>
        stream ? [{ side: "server" as const, names: stream.messages }] : [],
      ),
      ...Object.values(contract.channels).flatMap(({ client, server }) => [
        { side: "client" as const, names: client },
        { side: "server" as const, names: server },
      ]),
    ];

    it("every message is carried by a stream or a channel", () =>
      expect(new Set(directions.flatMap(({ names }) => names))).toEqual(new Set(Object.keys(contract.messages))));

    for (const { side, names } of directions)
      describe.each(names)(`the ${side}'s %s`, (name) => {
        const messages = sample(document, memorySchema(document, name), { seed, count }) as unknown as AnyMessage[];
        const { checks, reads } = side === "client" ? accepts : contract;
        const { encode: write, decode } = codec(contract, { side, names, checks, reads });

        it("is decoded as it was encoded, however its bytes are cut", () => {
          for (const message of messages) {
            const written = write(message);
            expect(decode(written)).toEqual({ message });
            const block = utf8(encode(written));
            for (const chunks of chunkings(block)) {
              const { events } = hear(chunks);
              if (events.length !== 1 || events[0]!.data !== written.data || events[0]!.event !== written.event)
                expect(events, `cut after ${chunks[0]!.length} of ${block.length}`).toEqual([written]);
            }
          }
        });

        for (const profile of Object.keys(contract.profiles ?? {}))
          it(`is read the same when it is written with the profile ${profile}`, () => {
            const write = messageEncoder(contract, { side, names, profile });
            for (const message of messages) expect(decode(write(message))).toEqual({ message });
          });
      });

    const callable = Object.keys({ ...contract.operations, ...contract.channels });
    it.each(callable)("what %s is called with is unbound as it was bound", (name) => {
      const route = router(contract);
      const described = (contract.operations[name] ?? contract.channels[name])!;
      for (const input of sample(document, inputSchema(document, name), { seed, count: 40 })) {
        const inPath = Object.keys(described.parameters ?? {}).filter((key) => described.path.includes(`{${key}}`));
        if (inPath.some((key) => ["", ".", ".."].includes(String((input as Input)[key])))) {
          expect(() => bind(contract, name, input as Input)).toThrow(TypeError);
          continue;
        }
        const { method, target, body } = bind(contract, name, input as Input);
        const { pathname, searchParams: query } = new URL(target, "http://localhost");
        const found = route(method, pathname) as {
          operations?: string[];
          channel?: string;
          path: Record<string, string>;
        };
        const names = found.operations ?? [found.channel!];
        const arrived = { path: found.path, query, body: body && JSON.parse(JSON.stringify(body)) };
        expect(unbind(contract, accepts, names, arrived)).toEqual({ name, input });
      }
    });

    const codes = Object.entries(contract.fault.codes ?? {});
    const refusals = Object.entries(contract.operations).flatMap(([name, { faults = {} }]) => [
      ...Object.keys(faults).map(
        (status) => [name, new Refusal('agent 7 ist weg: \u2028 "é😀"\r\n', { status: Number(status) })] as const,
      ),
      ...codes.map(
        ([code]) =>
          [name, new Refusal("no", { code, ...(contract.fault.details && { details: { at: [1, null] } }) })] as const,
      ),
    ]);
    // A protocol without operations refuses on its channel only.
    if (refusals.length > 0)
      it("a fault says the same when it is read and written again", () => {
        for (const [name, refusal] of refusals) {
          const written = fault(contract, name, refusal);
          const read = unfault(contract, written.status, written.body, refusal.retryAfter);
          const message = brief(refusal.message);
          expect(read).toMatchObject({ message, status: written.status });
          const own = refusal.details ?? contract.fault.noDetails;
          const isCut = message !== refusal.message;
          expect(read.details).toEqual(isCut ? { ...(own as object), body: refusal.message } : own);
          if (contract.fault.code && contract.fault.codes?.[refusal.code]) expect(read.code).toBe(refusal.code);
          expect(fault(contract, name, read)).toEqual(written);
        }
      });

    const faults = Object.keys(contract.messages).filter((name) => contract.messages[name]!.fault);
    it.each(faults)("a failure that %s reports is reported again in the same words", (name) => {
      for (const code of [undefined, ...codes.map(([code]) => code)]) {
        const message = faultMessage(contract, name, new Refusal("the model is gone\n", { code }));
        const read = unfaultMessage(contract, message)!;
        expect(read.message).toBe("the model is gone");
        expect(faultMessage(contract, name, read)).toEqual(message);
      }
    });
  });
}
