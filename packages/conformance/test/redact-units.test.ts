import { describe, expect, test } from "vitest";
import { encodeAs, packedIn } from "../src/redaction/base64.js";
import { encodingOf, packedAs } from "../src/redaction/encoding.js";
import { credentialsIn } from "../src/redaction/headers.js";
import { isCode } from "../src/redaction/looks.js";
import { bounded, idsWith, isVague, kindOfName, kindsWith } from "../src/redaction/names.js";
import { behind, besideLabel, inPair, kindOfLabel, labelIn } from "../src/redaction/pairs.js";
import {
  decodeForm,
  decodeUrl,
  encodeUrl,
  escapedIn,
  jsonIn,
  partsOf,
  split,
  unescapeJson,
} from "../src/redaction/parts.js";
import { Redactor } from "../src/redaction/redactor.js";
import { merged, replaced } from "../src/redaction/span.js";
import { cleanPath, secretPaths } from "../src/target.js";

test.each<[string, [string, string][], string | undefined]>([
  ["none", [], undefined],
  ["gzip", [["Content-Encoding", "gzip"]], "gzip"],
  ["behind identity", [["content-encoding", "identity, BR "]], "br"],
  ["of the transfer", [["Transfer-Encoding", "gzip, chunked"]], "gzip"],
  ["chunked alone", [["Transfer-Encoding", "chunked"]], undefined],
  ["UTF-8", [["Content-Type", "text/plain; charset=UTF-8"]], undefined],
  ["a quoted charset", [["Content-Type", 'text/plain;charset="utf-16"']], "utf-16"],
  ["Latin", [["Content-Type", "text/plain; charset=iso-8859-15"]], undefined],
  ["of Windows", [["Content-Type", "text/plain; charset=windows-1252"]], undefined],
  ["another of Windows", [["Content-Type", "text/plain; charset=windows-932"]], "windows-932"],
  ["a long one", [["Content-Encoding", "x".repeat(50)]], "x".repeat(40)],
  ["a long charset", [["Content-Type", `a; charset=${"x".repeat(50)}`]], "x".repeat(40)],
])("the encoding of a body by its headers: %s", (_, headers, encoding) => expect(encodingOf(headers)).toBe(encoding));

test.each<[string | undefined, number[]]>([
  ["gzip", [0x1f, 0x8b, 8]],
  ["deflate", [0x78, 0x01]],
  ["deflate", [0x78, 0x5e]],
  ["deflate", [0x78, 0x9c]],
  ["deflate", [0x78, 0xda]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
  ["zip", [0x50, 0x4b, 3, 4]],
  ["bzip2", [0x42, 0x5a, 0x68]],
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["utf-16", [0xff, 0xfe]],
  ["utf-16", [0xfe, 0xff]],
  [undefined, [0x1f, 0x8c]],
  [undefined, [0x78, 0x02]],
  [undefined, [0x50, 0x4b, 3]],
  [undefined, [0xff]],
  [undefined, []],
])("bytes that begin as %s are known as it", (name, bytes) => expect(packedAs(Uint8Array.from(bytes))).toBe(name));

test.each<[string, string[]]>([
  ["Bearer abc", ["abc"]],
  ["basic bWU6cGFzcw==", ["bWU6cGFzcw==", "pass"]],
  ["bWU6cGFzcw==", ["pass"]],
  ["bWU6", []],
  ["bWVwYXNz", []],
  ["/w==", []],
  [btoa("me:a\u0001b"), []],
  ["a=12345678; b=1234567; c=", ["12345678"]],
  ["a=12345678", ["12345678"]],
  ["a=b c=12345678", ["b c=12345678"]],
  ["digest a b", []],
  ["other abc", []],
])("the credentials in %j are %j", (secret, found) => expect(credentialsIn(secret)).toEqual(found));

describe("a text in base64", () => {
  const long =
    "A text that is long enough, of more than a hundred and twenty-seven characters in base64 by itself alone.";
  test("is known by a data URL or its length, and its bytes are a text's", () => {
    for (const word of [btoa(long), Buffer.from(long).toString("base64url")])
      expect(packedIn(`a ${word} b`)).toEqual([{ from: 2, to: 2 + word.length, plain: long }]);
    expect(packedIn(`x;base64,${btoa("twelve chars")}`)).toEqual([{ from: 9, to: 25, plain: "twelve chars" }]);
    expect(packedIn(`x;base64,${btoa("eleven char").replace("=", "")}`)).toEqual([]);
    expect(packedIn(`${btoa("a short one of two").repeat(2)} and more`)).toEqual([]);
    expect(packedIn(btoa(`${"x".repeat(100)}\0`))).toEqual([]);
    expect(packedIn(btoa(`\0${"x".repeat(100)}`))).toEqual([]);
    expect(packedIn(btoa("x".repeat(1024 * 1024)))).toEqual([]);
    const cut = btoa(`${"x".repeat(16)}é${"x".repeat(100)}`);
    expect(packedIn(cut)).toEqual([]);
    const plain = `${"x".repeat(17)}é${"x".repeat(100)}`;
    expect(packedIn(Buffer.from(plain).toString("base64"))[0]!.plain).toBe(plain);
  });
  test.each([
    ["ab==", "abcd", "YWJjZA=="],
    ["abcd", "abcd", "YWJjZA"],
    ["a-b=", "?>?>~~", "Pz4_Pn5-"],
    ["a/b=", "?>?>~~", "Pz4/Pn5+"],
    ["abcd", "ü", "w7w"],
  ])("has the alphabet and the ending of %j", (word, text, encoded) => expect(encodeAs(word, text)).toBe(encoded));
});

test.each<[string, string | undefined, string]>([
  ["a=b=c", "b=c", "a"],
  ["a", undefined, "a"],
  ["=a", "a", ""],
])("%j is split at the first separator", (text, rest, first) => expect(split(text, "=")).toEqual([first, rest]));

test("what is escaped as in a URL or in JSON is read, and the rest stays", () => {
  expect(decodeUrl("%41%zz%C3%BC%FFb+")).toBe("A%zzü\uFFFDb+");
  expect(decodeForm("a+b%20c")).toBe("a b c");
  expect(encodeUrl("a b\uD800ü")).toBe("a%20b%C3%BC");
  expect(unescapeJson('a\\"b')).toBe('a"b');
  expect(unescapeJson("a\\\\\\\\\\\\\\\\b")).toBe("a\\b");
  expect(unescapeJson("a\\b\\c")).toBe("a\\b\\c");
  expect(jsonIn(' {"a":1}')).toEqual({ a: 1 });
  expect(jsonIn("\uFEFF[1]")).toEqual([1]);
  expect([jsonIn("1"), jsonIn('"a"'), jsonIn("{a}")]).toEqual([undefined, undefined, undefined]);
  const words = (text: string) => escapedIn(text).map(({ from, to }) => text.slice(from, to));
  expect(words('a x%20y b "c%41" %4 %zz1 d%41')).toEqual(["x%20y", "c%41", "d%41"]);
  expect(words("%41 %42")).toEqual(["%41", "%42"]);
  expect(words("100%")).toEqual([]);
});

test("a form in parts is read part by part", () => {
  const part = (name: string, value: string) =>
    `--x\r\nContent-Disposition: form-data; name=${name}\r\n\r\n${value}\r\n`;
  const form = `${part('"a"', "1")}${part("b", "2\r\n3")}${part('"c"', "")}--x\r\nOther: 1\r\n\r\n4\r\n--x--\r\n`;
  const seen: string[] = [];
  const clean = partsOf(form, (value, name) => {
    seen.push(`${name}=${value}`);
    return "Z";
  });
  expect(seen).toEqual(["a=1", "b=2\r\n3"]);
  expect(clean).toBe(form.replace("1\r\n--x", "Z\r\n--x").replace("2\r\n3", "Z"));
});

test("spans that overlap or touch are one, and the text between them stays", () => {
  const spans = [
    { from: 4, to: 6 },
    { from: 0, to: 2 },
    { from: 2, to: 3 },
    { from: 5, to: 5 },
  ];
  expect(merged(spans)).toEqual([
    { from: 0, to: 3 },
    { from: 4, to: 6 },
  ]);
  expect(replaced("abcdefg", merged(spans), (part) => `<${part}>`)).toBe("<abc>d<ef>g");
  expect(replaced("abc", [], () => "x")).toBe("abc");
});

test("a secret parameter of a path is replaced, below any path, and others are not", () => {
  const operations = { one: { path: "/a.b/{key}/c/{id}" }, two: { path: "/d/{id}" } };
  const routes = secretPaths({
    secrets: ["key"],
    operations,
    channels: { three: { path: "/e/{key}/{key}" } },
  } as never);
  const clean = (path: string) => cleanPath(path, routes, (secret) => `<${secret}>`);
  expect(routes).toHaveLength(2);
  expect(clean("/a.b/x/c/y")).toBe("/a.b/<x>/c/y");
  expect(clean("/api/a.b/x/c/y/")).toBe("/api/a.b/<x>/c/y/");
  expect(clean("/e/one/two")).toBe("/e/<one>/<two>");
  for (const path of ["/aXb/x/c/y", "/a.b/x/c", "/a.b/x/c/y/z", "/d/x"]) expect(clean(path)).toBe(path);
  expect(secretPaths({ operations } as never)).toEqual([]);
});

test("names are judged once, and not for ever", () => {
  const asked: string[] = [];
  const keep = bounded<number>();
  const of = (name: string) => keep(name, () => asked.push(name));
  expect([of("a"), of("a")]).toEqual([1, 1]);
  for (let n = 0; n < 1999; n++) of(`${n}`);
  expect(of("a")).toBe(1);
  of("one more");
  expect(of("a")).toBe(2002);
});

test("a name is that of a secret by the contract, of an id, or vague", () => {
  const kindOf = kindsWith(["X-Guild", "a/b c"]);
  expect(["x_guild", "xGuild", "guild", "c", "", "password"].map(kindOf)).toEqual([
    ...["secret", "secret", "plain", "secret", "plain", "secret"],
  ]);
  expect(kindsWith([])).toBe(kindOfName);
  expect(kindOfName("password".padStart(200, "x_"))).toBe("secret");
  expect(kindOfName(`${"x_".repeat(97)}password`)).toBe("plain");
  const isId = idsWith(["room"]);
  expect(["room", "Room", "id", "fileId", "idea", "Sec-X", "If-Match", "traceparent", "commitSha"].map(isId)).toEqual([
    ...[true, false, true, true, false, true, true, true, true],
  ]);
  expect(idsWith([])("room")).toBe(false);
  expect(["", "value", "old_value", "v2", "value_of", "hash1"].map(isVague)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

test.each<[string, boolean]>([
  ["getToken(", true],
  ["process.env.TOKEN", true],
  ["hunter2)", true],
  ["hunter2]", true],
  ["hunter2}", true],
  ["p-w(d)", false],
  ["p-w[d]", false],
  ["p-w{d}", false],
  ["hunter2", false],
])("whether %j is the expression of a program, or its end, is %s", (text, is) => expect(isCode(text)).toBe(is));

test("what a label says of the value beside it", () => {
  const label = (object: Record<string, unknown>) => labelIn(object, kindOfName);
  expect(label({ name: "password", value: "x" })).toEqual({ kind: "secret", name: "password" });
  expect(label({ name: "token", key: "password" })).toEqual({ kind: "secret", name: "password" });
  expect(label({ name: "token", key: "colour" })).toEqual({ kind: "suspect", name: "token" });
  expect(label({ other: "password", name: 1 })).toEqual({ kind: "plain", name: "" });
  expect(label({ name: `${"x".repeat(192)} password` }).kind).toBe("plain");
  expect(label({ type: "token" }).kind).toBe("plain");
  expect(label({ type: "password" }).kind).toBe("secret");
  expect(["value", "default", "content", "text", "other", "v2"].map((name) => besideLabel("secret", name))).toEqual([
    ...["secret", "secret", "suspect", "secret", "plain", "secret"],
  ]);
  expect(besideLabel("plain", "content")).toBe("plain");
  expect(["x-session", "X-JWT-a", "a-b", "session", "x session"].map((one) => kindOfLabel(one, kindOfName))).toEqual([
    ...["suspect", "suspect", "plain", "plain", "plain"],
  ]);
  const after = (before: unknown, text = "x") => behind(before, text, kindOfName);
  expect(["--password", "-password", "password", "-u", "--user", "-1", 5].map((one) => after(one))).toEqual([
    ...["secret", "secret", "suspect", "plain", "plain", "plain", "plain"],
  ]);
  expect([after("-u", "a:b"), after("--user", "a:b"), after("--password", "-x"), after("x", "a:b")]).toEqual([
    ...["secret", "secret", "plain", "plain"],
  ]);
  expect([after(`--${"x".repeat(90)}password`), after(`--${"x_".repeat(45)}password`)]).toEqual(["secret", "secret"]);
  expect(after(`--${"x_".repeat(46)}password`)).toBe("plain");
  expect([["password", 1], ["password"], ["password", 1, 2], [1, 2]].map((one) => inPair(one, kindOfName))).toEqual([
    ...["secret", "plain", "plain", "plain"],
  ]);
});

test.each<[string, string, string]>([
  ["Authorization", "Bearer  abcdefgh ", "Bearer __redacted_1__"],
  ["Proxy-Authorization", "abcdefgh", "__redacted_1__"],
  ["Cookie", "a=b; c; d=; e=f=g", "a=__redacted_1__; c; d=; e=__redacted_2__"],
  ["Set-Cookie", "a=b; Path=/; HttpOnly", "a=__redacted_1__; Path=/; HttpOnly"],
  ["Set-Cookie", "a=b", "a=__redacted_1__"],
  [
    "Sec-WebSocket-Protocol",
    "parlance.abc, bearer, def , chat, parlance",
    "parlance.__redacted_1__, bearer, __redacted_2__, chat, parlance",
  ],
  ["Sec-WebSocket-Protocol", "abcdefgh12345,JWT,x", "__redacted_1__, JWT, __redacted_2__"],
  ["Parlance-Resume", "0123456789abcdef0123456789abcdef", "__redacted_1__"],
  ["Parlance-Resume", "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdeg"],
  ["Referer", "http://a/?token=b2b2b2b2b2b2b2&c=d", "http://a/?token=__redacted_1__&c=d"],
  ["Location", "/?code=a&password=b", "/?code=a&password=__redacted_1__"],
  ["X-Session", "", ""],
  ["X-Session", "a", "__redacted_1__"],
  ["X-Note", "password=abcdefgh", "password=__redacted_1__"],
])("the header %s: %s is %s", (name, value, clean) =>
  expect(new Redactor().headers([[name, value]])).toEqual([[name, clean]]),
);
