import { describe, expect, test } from "vitest";
import { Recorder } from "../src/recorder.js";
import { randomIn } from "../src/redaction/random.js";
import { Redactor } from "../src/redaction/redactor.js";

const SMALL = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const alphabets: [name: string, alphabet: string, least: number][] = [
  ["letters and digits", SMALL + SMALL.toUpperCase() + DIGITS, 0.93],
  ["small letters and digits", SMALL + DIGITS, 0.88],
  ["capitals and digits", SMALL.toUpperCase() + DIGITS, 0.88],
  ["base64 for URLs", `${SMALL}${SMALL.toUpperCase()}${DIGITS}-_`, 0.9],
];

/** Numbers below 1 that are the same in every run. */
function* numbers(seed: number): Iterator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}
const next = numbers(7);
const word = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[Math.floor(next.next().value * alphabet.length)]).join("");

const found = (text: string) => randomIn(text, []).map(({ from, to }) => text.slice(from, to));

describe.each(alphabets)("a word of %s", (_, alphabet, least) => {
  test.each([18, 24, 32, 64])("with %d characters is mostly known without a name", (length) => {
    const words = Array.from({ length: 500 }, () => word(alphabet, length));
    const known = words.filter((one) =>
      found(`it is ${one}, and`).some((part) => one.includes(part) && part.length > length - 3),
    );
    expect(known.length / words.length).toBeGreaterThan(least);
  });
});

const S = "Kx7fQ2mZr9Lw4TbN8v";

describe("a random word is in no", () => {
  const texts = [
    `I used ${S} for it.`,
    `mysql -p${S} db`,
    `sshpass -p ${S} ssh a`,
    `vault login ${S}`,
    `ALTER USER a IDENTIFIED BY '${S}';`,
    `Invalid API key provided: ${S}. Look at`,
    `password: >-\n  ${S}\n`,
    `<![CDATA[${S}]]>`,
    `if (given === "${S}") run()`,
    `| bob | ${S} |`,
    `bob,${S},3`,
    `-DB=${S}`,
    `default login me password ${S}`,
    `x (${S})`,
    `<code>${S}</code>`,
    `https://a/?thing=${S}&b=1`,
    `valid: ${S}`,
    `"paid": "${S}"`,
    JSON.stringify({ columns: ["user", "secret"], rows: [["me", S]] }),
    JSON.stringify({ params: ["me", S], method: "login" }),
    JSON.stringify({ env: { ANY: S } }),
  ];
  test.each(texts)("%s", (text) => {
    for (const shown of [
      new Redactor().text(text),
      new Redactor().text(JSON.stringify({ text })),
      new Redactor().text(JSON.stringify({ text: JSON.stringify({ a: [text] }) })),
      new Redactor().headers([["X-Any", text]])[0]![1],
      new Redactor().target(`/a?b=${encodeURIComponent(text)}`),
    ]) {
      expect(shown).not.toContain(S);
      expect(shown).toMatch(/__redacted_\d+__/);
    }
  });

  test("message that comes in pieces", () => {
    for (const size of [1, 2, 3, 5, 9]) {
      const written: string[] = [];
      const recorder = new Recorder((line) => void written.push(line));
      const seen = recorder.connection();
      for (const delta of `The secret is ${S}. Bye`.match(new RegExp(`.{1,${size}}`, "gs"))!)
        seen.frame("server", JSON.stringify({ delta }));
      recorder.flush();
      const told = written
        .slice(1)
        .map((line) => JSON.parse(JSON.parse(line).text).delta)
        .join("");
      expect(told).toMatch(/^The secret is (?:__redacted_\d+__)+\. Bye$/);
    }
  });

  test("header whose name says nothing", () => {
    const headers = ["X-Pat", "X-Key", "Ocp-Apim-Subscription-Key", "X-Shared", "X-Access-Code"].map(
      (name) => [name, S] as const,
    );
    for (const [, value] of new Redactor().headers(headers)) expect(value).toBe("__redacted_1__");
  });
});

describe("a text in base64 has no", () => {
  const about = "# The settings of this machine, which nobody else needs, and which nobody commits.\n";
  const file = `${about}DEBUG=1\nDB_PASSWORD=correct-horse-battery\nAPI_KEY=${S}\nNAME=ünïcode\n`;
  const clean = `${about}DEBUG=1\nDB_PASSWORD=__redacted_1__\nAPI_KEY=__redacted_2__\nNAME=ünïcode\n`;
  test.each(["base64", "base64url"] as const)("secrets: %s", (form) => {
    const [word, expected] = [file, clean].map((one) => Buffer.from(one).toString(form));
    for (const put of [
      (text: string) => text,
      (text: string) => JSON.stringify({ content: text, encoding: "base64" }),
      (text: string) => `It is ${text}, see`,
    ])
      expect(new Redactor().text(put(word!))).toBe(put(expected!));
    const url = (text: string) => `data:text/plain;base64,${btoa(text)}`;
    expect(new Redactor().text(url("DB_PASSWORD=correct-horse\n"))).toBe(url("DB_PASSWORD=__redacted_1__\n"));
    const image = Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, ...Buffer.alloc(300, 7)]).toString(form);
    expect(new Redactor().text(JSON.stringify({ image }))).toBe(JSON.stringify({ image }));
  });
});

describe("stays:", () => {
  const kept = [
    "550e8400-e29b-41d4-a716-446655440000",
    "5d41402abc4b2a76b9719d911017c592",
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "0x7ffffffffffffc00",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg_SpIdNs6c5H0NE8XYXysP-DGNKHfuwvY7kxvUdBeoGlODJ6-SfaPg==",
    "claude-3-5-sonnet-20241022",
    "getUint32ArrayView",
    "XMLHttpRequestEventTarget",
    "internationalization18n",
    "2026-11-24T03:20:00.000Z",
    "1700000000000000000",
    "/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV/messages",
    "http://localhost:8080/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    'toolCallId: "toolu_01A09q90qw90lq917835lq9"',
    '"request_id":"req_01A09q90qw90lq917835lq9",',
    "request_id=req_01A09q90qw90lq917835lq9&page=1",
    "--call-id=01A09q90qw90lq917835lq9",
    "commit: 01A09q90qw90lq917835lq9",
    "src/V8Serializer2Json/index.ts",
    "node_modules/.pnpm/a@1.0.0_b@2.0.0/node_modules/a",
    `data:image/png;base64,${"iVBORw0KGgoAAAANSUhEUg".repeat(20)}`,
  ];
  test.each(kept)("%s", (text) => {
    expect(new Redactor().text(text)).toBe(text);
    expect(new Redactor().text(JSON.stringify({ text: `It is ${text} here.` }))).toBe(
      JSON.stringify({ text: `It is ${text} here.` }),
    );
  });

  const ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  test("an id, in JSON, a path, a query, a header and an event", () => {
    const json = JSON.stringify({ id: ID, toolCallId: ID, ids: [ID], of: { uuid: ID }, cursor: ID, [ID]: 1 });
    expect(new Redactor().text(json)).toBe(json);
    expect(new Redactor().target(`/sessions/${ID}?request_id=${ID}`)).toBe(`/sessions/${ID}?request_id=${ID}`);
    const headers = [
      ["X-Request-Id", ID],
      ["ETag", `"${ID}"`],
      ["Sec-WebSocket-Key", "x3JJHMbDL1EzLkh9GBhXDw=="],
    ] as const;
    expect(new Redactor().headers(headers)).toEqual(headers);
    const written: string[] = [];
    const recorder = new Recorder((line) => void written.push(line));
    const seen = recorder.connection();
    seen.response(200, [["Content-Type", "text/event-stream"]]);
    seen.body("server", new TextEncoder().encode(`id: ${ID}\ndata: {}\n\n`));
    recorder.flush();
    expect(JSON.parse(written.at(-1)!).id).toBe(ID);
  });

  test("the session and the keys of a contract", () => {
    const contract = { session: "room", exchanges: [{ key: "turn", answers: [{ key: "re" }] }] } as never;
    const json = JSON.stringify({ room: ID, turn: ID, re: ID });
    expect(new Redactor({ contract }).text(json)).toBe(json);
    expect(new Redactor().text(json)).not.toContain(ID);
  });

  test("what a random word was, in places of ids: it is searched for nowhere else", () => {
    const redactor = new Redactor();
    expect(redactor.text(JSON.stringify({ text: `ran ${ID}` }))).toBe('{"text":"ran __redacted_1__"}');
    expect(redactor.text(JSON.stringify({ id: ID, text: `ran ${ID}` }))).toBe(
      `{"id":"${ID}","text":"ran __redacted_1__"}`,
    );
  });
});
