import { describe, expect, test } from "vitest";
import { Known } from "../src/redaction/known.js";
import { Placeholders } from "../src/redaction/placeholders.js";
import { replaceIn } from "../src/redaction/views.js";

const R = "Kx7fQ2mZr9Lw4TbN8v";

describe("texts that are known", () => {
  const known = new Known();
  known.add("abcdefgh", "1");
  known.add("abcdefghij", "2");
  known.add("abcdefghij", "another");
  known.add("short", "3");
  known.add("zzzzzzzzzzzz", "4");

  test("are replaced wherever they stand, the longest first, and shorter ones than eight characters are none", () => {
    expect(replaceIn(known, "abcdefgh abcdefghi abcdefghij short abcdefg")).toBe("1 1i 2 short abcdefg");
    expect(replaceIn(known, "abcdefghabcdefghijabcdefgh")).toBe("121");
    expect(replaceIn(known, "abcdefg")).toBe("abcdefg");
    expect(known.find("xabcdefghijy")).toEqual([{ from: 1, to: 11, instead: "2" }]);
    expect(new Known().find("abcdefgh")).toEqual([]);
  });

  test.each([
    ["", 0],
    ["x", 1],
    ["a", 0],
    ["xxabcdefg", 2],
    ["xxabcdefgh", 2],
    ["xxabcdefghi", 2],
    ["xxabcdefghij", 2],
    ["xxabcdefghijk", 13],
    ["abcdefghx", 9],
    ["zzzzzzzzzzzzz", 2],
    ["zzzzzzzzzzz", 0],
    ["abz", 2],
  ])("may begin in the end of %j at %i", (text, at) => expect(known.unfinished(text)).toBe(at));

  test("are forgotten one by one", () => {
    const some = new Known();
    some.add("abcdefgh", "1");
    some.add("abcdefghij", "2");
    some.delete("abcdefghij", "1");
    some.delete("nothing-here", "1");
    expect(replaceIn(some, "abcdefghij")).toBe("2");
    some.delete("abcdefghij", "2");
    expect(replaceIn(some, "abcdefghij")).toBe("1ij");
    expect(some.unfinished("xabc")).toBe(1);
    some.delete("abcdefgh", "1");
    expect(replaceIn(some, "abcdefghij")).toBe("abcdefghij");
    expect(some.unfinished("xabc")).toBe(4);
  });
});

describe("a placeholder", () => {
  test("is that of its text, whatever its form, and its own", () => {
    const all = new Placeholders();
    expect(all.of("one-secret-1")).toBe("__redacted_1__");
    expect(all.of("two-secret-2")).toBe("__redacted_2__");
    expect(all.of("one-secret-1")).toBe("__redacted_1__");
    expect(all.of("__redacted_7__")).toBe("__redacted_7__");
    expect(all.of("x__redacted_7__")).toBe("__redacted_3__");
    expect(all.of('a\\"b-secret')).toBe(all.of('a"b-secret'));
    expect(all.ofPiece("two-secret-2")).toBe("__redacted_2__");
    expect(all.ofPiece("two-sec")).toBe("__redacted_5__");
    expect(all.ofPiece("two-sec")).toBe("__redacted_6__");
    expect(replaceIn(all.known, "two-sec one-secret-1")).toBe("two-sec __redacted_1__");
  });

  test("of a random word is not searched for, and becomes that of a secret", () => {
    const all = new Placeholders();
    expect([all.ofRandom(R), all.ofRandom(R)]).toEqual(["__redacted_1__", "__redacted_1__"]);
    expect(replaceIn(all.known, R)).toBe(R);
    expect(all.of(R)).toBe("__redacted_1__");
    expect(replaceIn(all.known, R)).toBe("__redacted_1__");
    expect(all.ofRandom(R)).toBe("__redacted_1__");
  });

  test("stands for the oldest of a thousand secrets no more, once there is another", () => {
    const all = new Placeholders();
    for (let n = 0; n < 1000; n++) all.of(`secret-${n}-secret`);
    expect(replaceIn(all.known, "secret-0-secret")).toBe("__redacted_1__");
    all.of("secret-1000-secret");
    expect(replaceIn(all.known, "secret-0-secret secret-1-secret")).toBe("secret-0-secret __redacted_2__");
    expect(all.of("secret-0-secret")).toBe("__redacted_1002__");
  });

  test.each([
    ["in a URL", "a b/c%d+e", (text: string) => encodeURIComponent(text)],
    ["in a URL of another program", "a!b(c)*d", () => "a%21b%28c%29%2Ad"],
    ["in base64, where it is short", "hunter2!", (text: string) => Buffer.from(text).toString("base64")],
    ["in base64, behind a byte", "hunter2!", (text: string) => Buffer.from(`a${text}`).toString("base64").slice(2)],
    ["in a form", "a b/c%d+e", (text: string) => encodeURIComponent(text).replaceAll("%20", "+")],
    ["in JSON", 'a"b\\c\nd-e', (text: string) => JSON.stringify(text).slice(1, -1)],
    ["in JSON in JSON", 'a"b\\c\nd-e', (text: string) => JSON.stringify(JSON.stringify(text)).slice(3, -3)],
    ["in hexadecimal digits", "ab-cd-ef", (text: string) => Buffer.from(text).toString("hex")],
    ["in capitals of them", "ab-cd-zz", (text: string) => Buffer.from(text).toString("hex").toUpperCase()],
    ["in base64", "ab-cd-ef-gh", (text: string) => Buffer.from(text).toString("base64")],
    ["in base64 for URLs", "a>?b~~>>??x>>", (text: string) => Buffer.from(text).toString("base64url")],
  ])("stands for its secret %s too", (_, secret, form) => {
    const all = new Placeholders();
    all.of(secret);
    expect(replaceIn(all.known, `x ${form(secret)} y`)).toBe("x __redacted_1__ y");
  });

  test.each([1, 2, 3, 4, 5, 6])("stands in base64 for what is there of a secret behind %i bytes", (before) => {
    for (const after of [0, 1, 2, 3]) {
      const all = new Placeholders();
      all.of("ab-cd-ef-gh-ij");
      const text = btoa(`${"x".repeat(before)}ab-cd-ef-gh-ij${"y".repeat(after)}`);
      const shown = replaceIn(all.known, text);
      // A character that holds bits of a neighbour as well stays.
      const [from, to] = [Math.ceil((before * 8) / 6), Math.floor(((before + 14) * 8) / 6)];
      const isEnd = before % 3 === 0 && after === 0;
      expect(shown).toBe(`${text.slice(0, from)}__redacted_1__${isEnd ? "" : text.slice(to)}`);
    }
  });

  test.each([
    "letters",
    "internallyX",
    "internallyXYZabc",
    "abc-def",
    "package.json",
    "node_modules",
    "localhost:8080",
    "text/plain",
  ])("of %j stands in its own place alone", (word) => {
    const all = new Placeholders();
    all.of(word);
    expect(replaceIn(all.known, `x ${word}`)).toBe(`x ${word}`);
  });

  test("of seventeen letters stands elsewhere", () => {
    const all = new Placeholders();
    all.of("internallyXYZabcd");
    expect(replaceIn(all.known, "x internallyXYZabcd")).toBe("x __redacted_1__");
  });

  test("stands elsewhere without the end of a sentence that was read with its secret", () => {
    const all = new Placeholders();
    all.of("Tr0ub4dor&3!).");
    expect(replaceIn(all.known, "x Tr0ub4dor&3, Tr0ub4dor&3!).")).toBe("x __redacted_1__, __redacted_1__");
  });
});
