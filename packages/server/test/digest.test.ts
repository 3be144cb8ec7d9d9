import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { digest } from "../src/digest.js";

it("is the beginning of the SHA-256 of a text, whatever its length", () => {
  for (let length = 0; length < 300; length++) {
    const text = "aé€😀".repeat(length).slice(0, length);
    expect(digest(text)).toBe(createHash("sha256").update(text).digest("hex").slice(0, 32));
  }
  const long = "x".repeat(1_000_001);
  expect(digest(long)).toBe(createHash("sha256").update(long).digest("hex").slice(0, 32));
});
