// One law: no shape that names a secret shows it, however its JSON is damaged, escaped or sent.

import { describe, expect, test } from "vitest";
import { Recorder } from "../src/recorder.js";
import { Redactor } from "../src/redaction/redactor.js";

const WORD = "horse-staple";
const KEY = "A1b2C3d4E5f6G7h8I9j0";
const contract = {
  secrets: ["badge", "Ausweis Nummer", "clé"],
  auth: { apiKey: "required" as const, header: "X-Guild" },
};

/** JSON with a secret in it. */
const shapes: Record<string, unknown> = {
  "a property": { user: "me", password: WORD },
  "a property of the contract": { badge: WORD, user: "me" },
  "a property of the contract with a space": { "Ausweis Nummer": WORD },
  "a property of the contract beyond ASCII": { clé: WORD },
  "a property of the contract as a header writes it": { BADGE: WORD },
  "a list of the contract": { badge: ["first", WORD] },
  "an object of the contract": { badge: { user: "me", deep: [{ with: WORD }] } },
  "an object of secrets": { credentials: { user: "me", with: WORD } },
  "a value with quotes and backslashes": { password: `a"b\\c"${WORD}\\` },
  "a variable": { env: { STRIPE_KEY: WORD } },
  "a name and its value": { name: "password", value: WORD },
  "a value before its name": { value: WORD, name: "badge" },
  "a key and its value": { key: "api_key", val: WORD },
  "a list of variables": {
    env: [
      { name: "DEBUG", value: "1" },
      { name: "OPENAI_API_KEY", value: WORD },
    ],
  },
  "a list of headers": {
    headers: [
      { name: "Accept", value: "*/*" },
      { name: "X-Api-Key", value: WORD },
    ],
  },
  "a header of the contract": { headers: [{ name: "X-Guild", value: WORD }] },
  "a header of a session": { headers: [{ name: "X-Session", value: KEY }] },
  "properties between a name and its value": { name: "password", type: "text", required: true, value: WORD },
  "a list of pairs": {
    headers: [
      ["Accept", "*/*"],
      ["X-Api-Key", WORD],
    ],
  },
  "a flat list of headers": ["Host", "a", "X-Api-Key", KEY],
  "a list of arguments": ["login", "--password", WORD, "--verbose"],
  "a list of arguments with =": ["login", `--password=${WORD}`],
  "a flag of the contract": ["--badge", WORD],
  "a user in a list of arguments": ["curl", "-u", `me:${WORD}`, "http://a/"],
};

const damages: Record<string, (json: string) => string> = {
  "as it is": (json) => json,
  "with spaces": (json) => JSON.stringify(JSON.parse(json), null, 2),
  "behind a byte order mark": (json) => `\uFEFF${json}`,
  "with a trailing comma": (json) => json.replace(/[}\]]$/, ",$&"),
  "without its end": (json) => json.slice(0, -1),
  "behind a prefix against scripts": (json) => `)]}',\n${json}`,
  "as lines of JSON": (json) => `{"a":1}\n${json}\n`,
  "in a callback": (json) => `callback(${json});`,
  "in a sentence": (json) => `It was ${json}, and more.`,
  "in JSON": (json) => JSON.stringify({ input: json }),
  "in damaged JSON": (json) => `${JSON.stringify({ input: json }).slice(0, -1)},}`,
  "in JSON in JSON": (json) => JSON.stringify({ input: JSON.stringify({ input: json }) }),
  "in JSON in JSON in a sentence": (json) => `It was ${JSON.stringify(JSON.stringify({ input: json }))}.`,
};

/** Where a text may stand: what is recorded of it. */
const places: Record<string, (text: string) => string> = {
  "a body": (text) => new Redactor({ contract }).text(text),
  "a frame": (text) => recorded((seen) => seen.frame("client", text)),
  "an event": (text) =>
    recorded((seen) => {
      seen.response(200, [["Content-Type", "text/event-stream"]]);
      seen.body("server", new TextEncoder().encode(`${text.replace(/^/gm, "data: ")}\n\n`));
    }),
  "a query": (text) => new Redactor({ contract }).target(`/a?page=1&input=${encodeURIComponent(text)}&z=1`),
  "a query with + for spaces": (text) =>
    new Redactor({ contract }).target(`/a?input=${encodeURIComponent(text).replaceAll("%20", "+")}`),
  "a query, escaped twice": (text) =>
    new Redactor({ contract }).target(`/a?next=${encodeURIComponent(`/b?input=${encodeURIComponent(text)}`)}`),
  "a query with an escape that is no UTF-8": (text) =>
    new Redactor({ contract }).target(`/a?input=${encodeURIComponent(text)}%FF`),
  "a path": (text) => new Redactor({ contract }).target(`/a/${encodeURIComponent(text)}/b`),
  "a form": (text) => new Redactor({ contract }).text(`page=1&input=${encodeURIComponent(text)}`),
  "a URL in a text": (text) => new Redactor({ contract }).text(`see http://a/?input=${encodeURIComponent(text)} now`),
  "a part of a form": (text) =>
    new Redactor({ contract }).text(`--X\r\nContent-Disposition: form-data; name=a\r\n\r\n${text}\r\n--X--\r\n`),
};

function recorded(run: (seen: ReturnType<Recorder["connection"]>) => void): string {
  const written: string[] = [];
  const recorder = new Recorder((line) => void written.push(line), { contract });
  run(recorder.connection());
  recorder.flush();
  return written.slice(1).join("");
}

describe.each(Object.entries(shapes))("%s", (_, shape) => {
  const json = JSON.stringify(shape);
  test.each(Object.keys(places))("is not in %s, whole or damaged", (place) => {
    const seenIn = Object.entries(damages).filter(([, damage]) => {
      const shown = places[place]!(damage(json));
      return shown.includes(WORD) || shown.includes(KEY) || !shown.includes("__redacted_1__");
    });
    expect(seenIn.map(([damage]) => damage)).toEqual([]);
  });
});

describe("pairs that are no secrets stay", () => {
  const kept: unknown[] = [
    { name: "read_file", arguments: { path: "a.ts" } },
    { name: "max_tokens", value: "4096" },
    { name: "create_api_key", content: "Done, it is in the list." },
    { required: ["password", "username", "email"] },
    { name: "password", type: "string", description: "The password." },
    [["a", "b"]],
    ["--verbose", "--password-file"],
    { key: "Enter", value: "pressed" },
    { id: 1, value: "a" },
  ];
  test.each(kept.map((one) => JSON.stringify(one)))("%s", (text) => {
    for (const damage of Object.values(damages)) {
      const damaged = damage(text);
      expect(new Redactor({ contract }).text(damaged)).toBe(damaged);
    }
  });

  test.each(["a=1&b=%20c", "q=100%&x=%zz", "next=%2Fcb%3Fpage%3D2", "name=password&other=1"])("%s", (query) => {
    expect(new Redactor({ contract }).target(`/a?${query}`)).toBe(`/a?${query}`);
    expect(new Redactor({ contract }).text(query)).toBe(query);
  });
});

describe("queries and forms", () => {
  const queries = [
    `input=API_KEY%3D${WORD}`,
    `next=%2Fcb%3Faccess_token%3D${WORD}`,
    `next=${encodeURIComponent(`https://a/cb?x=1&access_token=${WORD}#b`)}`,
    `next=${encodeURIComponent(encodeURIComponent(`/cb?access_token=${WORD}`))}`,
    `name=password&value=${WORD}`,
    `value=${WORD}&name=password`,
    `user%5Bpassword%5D=${WORD}`,
    `badge=${WORD}`,
    `input=${encodeURIComponent("password")}%3A%20%22${WORD}%22`,
  ];
  test.each(queries)("%s", (query) => {
    for (const shown of [
      new Redactor({ contract }).target(`/a?${query}`),
      new Redactor({ contract }).text(query),
      new Redactor({ contract }).text(`GET /a?${query} HTTP/1.1`),
    ]) {
      expect(shown).not.toContain(WORD);
      expect(shown).toContain("__redacted_1__");
    }
  });
});

test("a secret parameter in a path is left out, and the rest of the path stays", () => {
  const routed = {
    secrets: ["badge"],
    operations: { read: { path: "/gates/{gate}/badges/{badge}" } },
    channels: { watch: { path: "/watch/{badge}/now" } },
  } as never;
  const shown = (target: string) => new Redactor({ contract: routed }).target(target);
  expect(shown(`/gates/north/badges/${WORD}?page=1`)).toBe("/gates/north/badges/__redacted_1__?page=1");
  expect(shown(`/under/gates/north/badges/${WORD}/`)).toBe("/under/gates/north/badges/__redacted_1__/");
  expect(shown(`/watch/${WORD}/now`)).toBe("/watch/__redacted_1__/now");
  expect(shown("/gates/north")).toBe("/gates/north");
});

describe("a secret that was seen is left out where other programs write it their way", () => {
  const secret = 'päss/wörd "12345"';
  const json = JSON.stringify(secret).slice(1, -1);
  const ways: Record<string, string> = {
    "with escapes beyond ASCII, as Python writes it": json.replace(/[^\x20-\x7e]/g, unit),
    "with escaped slashes, as PHP writes it": json.replaceAll("/", "\\/").replace(/[^\x20-\x7e]/g, unit),
    "with every character escaped": secret.replace(/./g, unit),
    "with every byte escaped, as in a URL": [...Buffer.from(secret)].map((one) => `%${one.toString(16)}`).join(""),
    "as hexadecimal digits": Buffer.from(secret).toString("hex"),
    "as hexadecimal digits in capitals": Buffer.from(secret).toString("hex").toUpperCase(),
  };
  function unit(one: string): string {
    return `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  }
  test.each(Object.keys(ways))("%s", (way) => {
    const texts = [`{"text":"It is ${ways[way]}."}`, `{"text":"It is ${ways[way]}.",}`];
    for (const text of texts) {
      const redactor = new Redactor();
      redactor.replace(secret);
      expect(redactor.text(text)).toMatch(/^\{"text":"It is __redacted_1__\.",?\}$/);
    }
  });
});

test("the credentials in a secret are found alone afterwards", () => {
  const token = "horse-staple-battery";
  const ways = [
    { authorization: `Bearer ${token}` },
    { name: "Authorization", value: `Bearer ${token}` },
    { headers: [["Authorization", `Basic ${btoa(`me:${token}`)}`]] },
    { cookie: `theme=dark; sid=${token}` },
    { headers: [{ name: "Cookie", value: `sid=${token}; theme=dark` }] },
    `Cookie: sid=${token}; theme=dark`,
    `the password is ${token}12.`,
  ];
  for (const way of ways) {
    const redactor = new Redactor();
    redactor.text(JSON.stringify(way));
    expect(redactor.text(`it was ${token}12 here`)).toMatch(/^it was __redacted_\d+__(?:12)? here$/);
  }
});

test("JSON that is deeper than it is read keeps nothing of its depth", () => {
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}{"password":"${WORD}"}${"}".repeat(levels)}`;
  for (const levels of [10, 100, 400, 600, 5000]) {
    const shown = new Redactor().text(deep(levels));
    expect(shown).not.toContain(WORD);
    expect(() => JSON.parse(shown)).not.toThrow();
  }
});

test("a path keeps its slashes where a part of it has a secret", () => {
  const shown = (target: string) => new Redactor({ contract }).target(target);
  const ghp = `ghp_${KEY}`;
  expect(shown(`/x/${ghp}/y%20z`)).toBe("/x/__redacted_1__/y%20z");
  expect(shown(`/files/API_KEY%3D${WORD}/x`)).toBe("/files/API_KEY%3D__redacted_1__/x");
  expect(shown(`/v1/a%20b/${encodeURIComponent(`postgres://me:${WORD}@h/d`)}/c`)).toMatch(
    /^\/v1\/a%20b\/postgres%3A[^/]+\/c$/,
  );
});
