import { expect, test } from "vitest";
import { Mask } from "../src/mask.js";
import type { Result } from "../src/result.js";

// The token of a run in what the run reports: whole, in parts, and in other spellings.

const TOKEN = "abcdefghijklmnopqrstuvwxyz";
const mask = (token?: string) => (text: string) =>
  new Mask(undefined, token).text(text).replace(/__redacted_\d+__/g, "*");

test.each<[token: string | undefined, text: string, shown: string]>([
  [TOKEN, `a ${TOKEN} b ${TOKEN}`, "a * b *"],
  [TOKEN, "x abcdefgh y", "x * y"],
  [TOKEN, "x abcdefg y", "x abcdefg y"],
  [TOKEN, "x stuvwxyz y klmnopqrstu z", "x * y * z"],
  [TOKEN, "abcdefghijklm", "*"],
  [TOKEN, `${TOKEN}${TOKEN}`, "**"],
  [TOKEN, "nothing of it", "nothing of it"],
  ["abcdefghijklmno", "x abcdefgh y bcdefgh z", "x * y bcdefgh z"],
  ["abcdefghijklmnop", "x abcdefgh y", "x * y"],
  ["abcdefghi", "x abcde y abcd z", "x * y abcd z"],
  ["abcdefgh", "x abcd y abc z", "x * y abc z"],
  ["abcdefg", "x abcdefg y abcdef z", "x * y abcdef z"],
  ["abcd", "x abcd y", "x * y"],
  ["abc", "x abc y", "x abc y"],
  ['say "hello" to/all of us', "x=say%20%22hello%22%20to%2Fall%20of%20us", "x=*"],
  ['say "hello" to all of us', '{"a":"say \\"hello\\" to all of us"}', '{"a":"*"}'],
  [undefined, "x conformance y", "x conformance y"],
])("with the token %s the text %s is shown as %s", (token, text, shown) => {
  expect(mask(token)(text)).toBe(shown);
});

const result: Result = {
  id: "client/a",
  side: "client",
  level: "must",
  title: "it does",
  at: "contract.json",
  kill: "alter",
  outcome: "failed",
  ms: 1,
};

test("a result is shown without the token in what came, what was expected, why, how to run it again and its bytes", () => {
  const texts = { expected: `e ${TOKEN}`, came: `c ${TOKEN}`, reason: `r ${TOKEN}`, rerun: `again ${TOKEN}` };
  const bytes = `GET /x?y=${TOKEN} HTTP/1.1\r\nA: ${TOKEN}\r\nAuthorization: …\r\n\r\nbody ${TOKEN}`;
  const trace = [{ t: 1, c: 2, from: "suite", bytes }] as const;
  const shown = new Mask(undefined, TOKEN).result({ ...result, ...texts, trace });
  expect(JSON.stringify(shown)).not.toContain("abcdefgh");
  const plain = JSON.parse(JSON.stringify(shown).replace(/__redacted_\d+__/g, "*"));
  expect(plain).toEqual({
    ...result,
    expected: "e *",
    came: "c *",
    reason: "r *",
    rerun: "again *",
    trace: [{ t: 1, c: 2, from: "suite", bytes: "GET /x?y=* HTTP/1.1\r\nA: *\r\nAuthorization: …\r\n\r\nbody *" }],
  });
  expect(new Mask(undefined).result(result)).toEqual(result);
});

test("a secret of a header is left out of the bytes, and of what came, because the bytes are read first", () => {
  const bytes = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=planted-cookie-4f9a2b7c\r\nno header line\r\n\r\n{}";
  const came = "sid=planted-cookie-4f9a2b7c";
  const shown = new Mask(undefined).result({ ...result, came, trace: [{ t: 0, c: 1, from: "peer", bytes }] });
  expect(JSON.stringify(shown)).not.toContain("planted");
  expect(shown.trace![0]!.bytes).toMatch(
    /^HTTP\/1\.1 200 OK\r\nSet-Cookie: .*__redacted_\d+__.*\r\nno header line\r\n\r\n\{\}$/,
  );
});
