import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract, AnyMessage } from "@parlance/wire";
import { expect, test } from "vitest";
import { decoderFor, encoderFor } from "../src/codecs.js";

const contract = foldGateway as AnyContract;
const names = ["text", "done"];
const { checks, reads } = contract;
const options = { side: "server" as const, names, checks, reads };

type Make = (contract: AnyContract, options: object) => unknown;

test.each([encoderFor, decoderFor] as readonly Make[])(
  "a codec is shared for equal options, and for nothing less",
  (make) => {
    const one = make(contract, options);
    expect(make(contract, { ...options })).toBe(one);
    const others = [
      make({ ...contract }, options),
      make(contract, { ...options, side: "client" }),
      make(contract, { ...options, names: [...names] }),
      make(contract, { ...options, checks: undefined }),
    ];
    expect(new Set([one, ...others]).size).toBe(5);
    // Each of them is still the first answer for its options.
    expect(make(contract, { ...options })).toBe(one);
  },
);

test("a message to many readers is encoded once, and one of a handler's own each time", () => {
  const encode = encoderFor(contract, options);
  const message = { type: "text", text: "a" } as AnyMessage;
  const sent = () => ({ message, place: 1, weight: 1, had() {} });
  const [one, other] = [sent(), sent()];
  const encoded = encode(message, one);
  expect([encode(message, one), encoded.sent]).toEqual([encoded, one]);
  expect(encode(message, one)).toBe(encoded);
  const own = encode(message);
  expect([own === encoded, own.sent]).toEqual([false, undefined]);
  expect(encode(message)).not.toBe(own);
  // What a handler sends in between is none of the readers' business.
  expect(encode(message, one)).toBe(encoded);
  expect(encode(message, other)).not.toBe(encoded);
  expect(encode(message, other).sent).toBe(other);
});

test("a message is one block of text, with an id where its stream has one", () => {
  const encoded = encoderFor(contract, options)({ type: "text", text: "a" } as AnyMessage);
  const block = 'event: text\ndata: {"text":"a"}\n\n';
  for (let i = 0; i < 2; i++) {
    expect(encoded.block()).toBe(block);
    expect(encoded.block("e.1")).toBe(`event: text\nid: e.1\ndata: {"text":"a"}\n\n`);
    expect(encoded.block("")).toBe(`event: text\nid: \ndata: {"text":"a"}\n\n`);
  }
});
