import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract } from "@parlance/wire";
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
