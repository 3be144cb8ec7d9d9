// One law: what the caller gives as a secret is in no line, wherever it stands, however it is written, and in pieces of any size.

import { describe, expect, test } from "vitest";
import { Recorder } from "../src/recorder.js";
import { secretsInEnvironment } from "../src/redaction/environment.js";
import { Redactor } from "../src/redaction/redactor.js";

const SECRETS: Readonly<Record<string, string>> = {
  "a word": "correcthorse",
  "a word of eight letters": "password",
  "a name of a file": "package.json",
  "a sentence": "it is a cold day in May",
  digits: "4711081500",
  "text with quotes and tags": `it's <b>"q"</b> & more`,
  "text with backslashes": "C:\\temp\\new",
  "text beyond ASCII": "pässwörd-密码🔑",
  "a text that a URL escapes": "a/b+c d%41?e=f&g",
  "a path": "/run/secrets/of-mine",
  "a variable": "$HOME/of-mine",
  "the same characters again": "abcabcabc-dabcabcabc",
  "a beginning of another secret": "correcthorsebattery",
};

type Seen = ReturnType<Recorder["connection"]>;
const bytes = (text: string) => new TextEncoder().encode(text);
const base64 = (text: string) => Buffer.from(text).toString("base64");
const units = (text: string, write: (unit: string) => string) =>
  Array.from({ length: text.length }, (_, at) => write(text.charCodeAt(at).toString(16).padStart(4, "0"))).join("");
const escaped = (text: string) => Array.from(bytes(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
const numbered = (text: string, form: (point: number) => string) =>
  Array.from(text, (one) => form(one.codePointAt(0)!)).join("");
const ascii = (text: string) => [...text].every((one) => one >= " " && one <= "~");

/** How a secret may be written in a text. */
const forms: Readonly<Record<string, (secret: string) => string>> = {
  "as it is": (secret) => `before ${secret} after`,
  alone: (secret) => secret,
  "in code": (secret) => `f(${JSON.stringify(secret)}, 1)`,
  "in JSON": (secret) => JSON.stringify({ a: [{ note: secret }] }),
  "as the name of a property": (secret) => JSON.stringify({ [secret]: 1 }),
  "in JSON in JSON": (secret) => JSON.stringify({ a: JSON.stringify({ b: `x ${secret} y` }) }),
  "in a URL": (secret) => `see http://a/?x=${encodeURIComponent(secret)}&y=1 there`,
  "in HTML": (secret) =>
    `<i>${secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;")}</i>`,
  "in HTML as numbers": (secret) => `<i>${numbered(secret, (point) => `&#${point};`)}</i>`,
  "in HTML as numbers of base 16": (secret) => `<i>${numbered(secret, (point) => `&#x${point.toString(16)};`)}</i>`,
  "in HTML with one number": (secret) => `<i>&#${secret.codePointAt(0)};${[...secret].slice(1).join("")}</i>`,
  "in JSON of ASCII, in a text": (secret) =>
    `{"b": "${JSON.stringify(secret)
      .slice(1, -1)
      .replace(/[^ -~]/g, (one) => units(one, (unit) => `\\u${unit}`))}"} x`,
  "in JSON, every character escaped, in a text": (secret) => `{"b": "${units(secret, (unit) => `\\u${unit}`)}"} x`,
  "in JSON, every character escaped twice": (secret) =>
    `it is "${units(secret, (unit) => `\\\\u${unit.toUpperCase()}`)}"`,
  "in a URL, every byte escaped": (secret) => `see http://a/?x=${escaped(secret)} there`,
  "in a URL in a URL": (secret) => `see http://a/?x=${encodeURIComponent(encodeURIComponent(secret))}&y=1 there`,
  "with accents of their own": (secret) => `before ${secret.normalize("NFD")} after`,
  "behind the name of a variable": (secret) => `DB_PASSWORD=${secret}`,
  "behind a flag, in quotes": (secret) => `sshpass -p '${secret}' ssh host`,
  "behind a name in YAML": (secret) => `db:\n  passwd: ${secret}\n`,
  "in base64": (secret) => `x ${base64(secret)} y`,
  "in base64 of more": (secret) => `x ${base64(`user:${secret}`)} y`,
  "in pairs of hexadecimal digits": (secret) => `x ${Buffer.from(secret).toString("hex").match(/../g)!.join(" ")} y`,
  "in hexadecimal digits": (secret) => `x ${Buffer.from(secret).toString("hex")} y`,
};

/** Where a text may come. */
const places: Readonly<Record<string, (seen: Seen, text: string) => void>> = {
  "a query": (seen, text) => seen.request("GET", `/a?b=${encodeURIComponent(text)}`, []),
  "a path": (seen, text) => seen.request("GET", `/a/${encodeURIComponent(text)}/b`, []),
  "a header": (seen, text) => seen.request("GET", "/", [["X-Note", ascii(text) ? text : encodeURIComponent(text)]]),
  "a body": (seen, text) => {
    seen.request("POST", "/", []);
    seen.body("client", bytes(text));
    seen.end("client");
  },
  "a frame": (seen, text) => seen.frame("server", text),
  "a binary frame": (seen, text) => seen.frame("server", new Uint8Array([0xff, ...bytes(text), 0xfe])),
  "an event": (seen, text) => {
    seen.response(200, [["Content-Type", "text/event-stream"]]);
    seen.body("server", bytes(`data: ${JSON.stringify({ text })}\n\n: ${text}\n\n`));
    seen.end("server");
  },
  "the name and the id of an event": (seen, text) => {
    seen.response(200, [["Content-Type", "text/event-stream"]]);
    seen.body("server", bytes(`event: ${text}\nid: ${text}\ndata: 1\n\n`));
    seen.end("server");
  },
  "a body that is lost before its last characters": (seen, text) => {
    seen.request("POST", "/", []);
    seen.body("client", bytes(`${text.trimEnd()}`).slice(0, -1));
    seen.error("client", "lost");
  },
  "frames that repeat all that came so far": (seen, text) => {
    for (let at = 3; at < text.length + 3; at += 3) seen.frame("server", JSON.stringify({ text: text.slice(0, at) }));
  },
  "a close": (seen, text) => seen.close("server", 1008, text.slice(0, 100)),
  "an error": (seen, text) => seen.error("server", text),
  "frames of one character": (seen, text) => {
    for (const part of text) seen.frame("server", JSON.stringify({ type: "delta", text: part }));
  },
  "frames of three characters": (seen, text) => {
    for (let at = 0; at < text.length; at += 3) seen.frame("server", JSON.stringify({ text: text.slice(at, at + 3) }));
  },
  "frames of a few characters": (seen, text) => {
    for (let at = 0; at < text.length; at += 5) seen.frame("server", JSON.stringify({ text: text.slice(at, at + 5) }));
  },
  "frames of which each has its rest": (seen, text) => {
    for (const at of [0, 3, 7]) seen.frame("server", JSON.stringify({ text: text.slice(at, at + (at === 0 ? 3 : 4)) }));
    seen.frame("server", JSON.stringify({ text: text.slice(11) }));
  },
};

/** All that a line says: its texts, and what their encodings hold. */
function said(line: string): string {
  const of = (value: unknown): string[] =>
    typeof value === "string"
      ? [value, ...(/^[\w+/]+=*$/.test(value) ? [Buffer.from(value, "base64").toString()] : [])]
      : typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, inner]) => [name, ...of(inner)])
        : [String(value)];
  return of(JSON.parse(line)).join("\n");
}

describe.each(Object.entries(places))("a secret that the caller gives is in no line, in %s", (where, put) => {
  test.each(Object.entries(forms))("%s", (_, write) => {
    for (const [what, secret] of Object.entries(SECRETS)) {
      const lines: string[] = [];
      const recorder = new Recorder((line) => void lines.push(line), { secrets: Object.values(SECRETS) });
      put(recorder.connection(), write(secret));
      recorder.flush();
      const all = lines.slice(1).map(said).join("\n");
      const shown = where.startsWith("frames of")
        ? lines
            .slice(1)
            .map((line) => (JSON.parse(JSON.parse(line).text) as { text: string }).text)
            .join("")
        : all;
      const inJson = JSON.stringify(secret).slice(1, -1);
      const twice = JSON.stringify(inJson).slice(1, -1);
      const written = write(secret);
      const core = written.slice(written.indexOf(" ") + 1).split(/ (?:after|y|there|x)$/)[0]!;
      for (const form of [secret, inJson, twice, encodeURIComponent(secret), Buffer.from(secret).toString("hex")]) {
        expect(shown, what).not.toContain(form);
        expect(all, what).not.toContain(form);
      }
      if (written.includes(" ") && core.length > 12) expect(shown, what).not.toContain(core);
      // Nor a part of it, which a name may have told.
      const part = 7;
      for (let at = 0; at + part <= secret.length; at++) expect(shown, what).not.toContain(secret.slice(at, at + part));
    }
  });
});

test("a secret that the caller gives is not forgotten for those that come", () => {
  const redactor = new Redactor({ secrets: ["first-of-all"] });
  for (let n = 0; n < 1100; n++) redactor.text(JSON.stringify({ password: `another-${n}` }));
  expect(redactor.text("it is another-0, first-of-all")).toBe("it is another-0, __redacted_1__");
});

test("a header is searched again once there is another secret", () => {
  const redactor = new Redactor();
  const note = [["X-Note", "it is correct-horse-battery"]] as const;
  expect(redactor.headers(note)).toEqual(note);
  expect(redactor.headers(note)).toEqual(note);
  redactor.text('{"password":"correct-horse-battery"}');
  expect(redactor.headers(note)).toEqual([["X-Note", "it is __redacted_1__"]]);
});

test.each(["GET /a?b=1&verbose", "it ends with \\\\u00e", "made by AT&Theme", "a path C:\\\\u"])(
  "the end of a text that only may be a character of a secret stays: %s",
  (text) => expect(new Redactor({ secrets: ["first-of-all"] }).text(text)).toBe(text),
);

test("a recording counts the secrets of its caller and names none", () => {
  expect(new Redactor({ secrets: ["first-of-all", "second-of-all"] }).rules()).toContain("2 secrets of the caller");
  expect(new Redactor().rules().join()).not.toContain("of the caller");
});

test("a secret that is too short to be found is refused", () => {
  expect(() => new Redactor({ secrets: ["hunter2"] })).toThrow("a secret needs 8 characters or more to be found");
});

test("variables named as secrets give their values, without those that say where something is", () => {
  const variables = {
    GITHUB_TOKEN: "ghs-of-mine",
    DB_PASSWORD: "a b c d e",
    PUBLIC_KEY: "public-of-mine",
    HOME: "/home/of-mine",
    SSH_KEY: "/home/me/.ssh/id",
    MY_SECRET: "postgres",
    API_KEY: "short",
    OTHER_SECRET: "$NAME_OF_OTHER",
    EMPTY_TOKEN: undefined,
  };
  expect(secretsInEnvironment(variables)).toEqual(["ghs-of-mine", "a b c d e"]);
});
