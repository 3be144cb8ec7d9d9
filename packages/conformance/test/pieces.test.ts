import { expect, it, vi } from "vitest";
import { Pieces } from "../src/redaction/pieces.js";
import { Redactor } from "../src/redaction/redactor.js";

/** A long text of each shape in which words end rarely, often, or never. */
const texts: Readonly<Record<string, string>> = {
  "without a space": "漢字かな".repeat(20_000),
  "of words": "lorem ipsum dolor, ".repeat(4000),
  "of long words": `${"x".repeat(3000)} `.repeat(25),
  "of lines": "const a = 1;\n  return { a };\n".repeat(3000),
  "in which a private key begins": `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG\n".repeat(4000)}`,
  "of assignments": "a=b; c=d; ".repeat(8000),
};

const place = (written: string[], at: number) => (clean: string) => {
  written[at] = clean;
};

it.each(Object.entries(texts))(
  "a text %s is searched for secrets a few times, however short its pieces are, and every piece comes out",
  (_, text) => {
    for (const length of [1, 7, 60, 1000, 40_000]) {
      const redactor = new Redactor();
      const find = vi.spyOn(redactor, "find");
      const pieces = new Pieces(redactor);
      const written: string[] = [];
      let added = 0;
      for (let at = 0; at < text.length && added < 20_000; at += length, added++)
        pieces.add(text.slice(at, at + length), place(written, added));
      pieces.settle();
      const whole = text.slice(0, added * length);
      const searched = find.mock.calls.reduce((sum, [part]) => sum + part.length, 0);
      expect(searched / whole.length).toBeLessThan(4);
      expect(written).toHaveLength(added);
      if (!text.includes("PRIVATE")) expect(written.join("")).toBe(whole);
    }
  },
);
