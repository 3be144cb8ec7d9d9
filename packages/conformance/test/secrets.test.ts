import { describe, expect, test } from "vitest";
import { Recorder } from "../src/recorder.js";
import { Redactor } from "../src/redaction/redactor.js";

const KEY = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0";
const WORD = "correct-horse-battery";

/** Texts with a secret in them: the whole text, and the part that must not be seen. */
const texts: [what: string, text: string, secret: string][] = [
  ["a variable", `API_KEY=${WORD}`, WORD],
  ["an exported variable", `run export OPENAI_API_KEY="${WORD}" first`, WORD],
  ["a variable of another tool", `GITHUB_TOKEN=${WORD} make`, WORD],
  ["a variable in a .env file", `# local\nDB_PASSWORD=${WORD}\nDEBUG=1`, WORD],
  ["a dotted property", `spring.datasource.password=${WORD}`, WORD],
  ["YAML", `db:\n  password: "${WORD}"\n`, WORD],
  ["code", `const client = new Client({ apiKey: '${WORD}' });`, WORD],
  ["JSON in text", `The config is {"user": "me", "api_key": "${WORD}"} here.`, WORD],
  ["JSON in JSON in text", `It logs "{\\"api_key\\": \\"${WORD}\\"}".`, WORD],
  ["a flag", `login --password ${WORD} --verbose`, WORD],
  ["a flag with spaces", `login --password   ${WORD}  --verbose`, WORD],
  ["spaces around a separator", `client_secret   =   ${KEY}  now`, KEY],
  ["tabs around a separator", `client_secret\t:\t'${WORD}'  now`, WORD],
  ["a value on the next line", `password:\n  "${WORD}"\nnow`, WORD],
  ["a value of many words", `password: "${WORD} of four more and yet more words"; next`, WORD],
  ["a flag with =", `login --api-key=${WORD}`, WORD],
  ["curl's user", `curl -u me:${WORD} http://a/`, WORD],
  ["a query in text", `GET http://a/x?page=2&access_token=${WORD}&z=1`, WORD],
  ...["access_token", "api_key", "client_secret", "X-Amz-Signature"].map((name): [string, string, string] => [
    `a URL with ${name}`,
    `see https://a.example/cb?x=1&${name}=${KEY}&y=2 for it`,
    KEY,
  ]),
  ["a URL with a fragment", `https://a.example/cb#access_token=${WORD}&x=1`, WORD],
  ["a URL in a query", `GET /go?to=https://a.example/?password=${WORD}`, WORD],
  ["a connection string", `postgres://me:${WORD}@db.example:5432/app`, WORD],
  ["a connection string without a user", `redis://:${WORD}@cache:6379/0`, WORD],
  ["a password with @ and /", `mysql://me:p@ss/${WORD}@db/app`, WORD],
  ["ADO", `Server=db;User Id=me;Password=${WORD};Encrypt=true`, WORD],
  ["Azure", `DefaultEndpointsProtocol=https;AccountKey=${KEY}==;EndpointSuffix=a`, KEY],
  ["a header in text", `Authorization: Bearer ${WORD}`, WORD],
  ["a header of basic credentials", `Proxy-Authorization: Basic ${KEY}==`, KEY],
  ["a header's token", `curl -H "X-Api-Key: ${KEY}" http://a/`, KEY],
  ["a cookie in text", `Cookie: sid=${WORD}; theme=dark`, WORD],
  ["a bearer", `I used Bearer ${KEY} for it`, KEY],
  ["a JWT", `token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${KEY}`, "eyJzdWIiOiIxMjM0NTY3ODkwIn0"],
  ["a PEM block", `-----BEGIN RSA PRIVATE KEY-----\nMIIE${KEY}\n${KEY}x=\n-----END RSA PRIVATE KEY-----`, KEY],
  [
    "an encrypted PEM block",
    `-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${KEY}\n-----END EC PRIVATE KEY-----`,
    KEY,
  ],
  ["a PEM block that is not finished", `-----BEGIN OPENSSH PRIVATE KEY-----\n${KEY}\n`, KEY],
  ...[
    "sk-",
    "sk-ant-api03-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "AIza",
    "hf_",
    "npm_",
    "ya29.",
  ].map((prefix): [string, string, string] => [`a key with ${prefix}`, `it is ${prefix}${KEY}, see`, KEY]),
  ["a sentence with it in quotes", `The password for db is "${WORD}". And more`, WORD],
  ["an error with it in quotes", `it said: invalid password '${WORD}', so`, WORD],
  [
    "a bot of Telegram",
    "GET /bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1/getMe now",
    "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
  ],
  ["an AWS key", "id AKIAIOSFODNN7EXAMPLE is ours", "AKIAIOSFODNN7EXAMPLE"],
];

/** Places of a text within others, and in lines of a recording. */
const within: Record<string, (text: string) => string> = {
  "a text behind a name": (text) => `note: ${text}`,
  "a text behind =": (text) => `x=${text}`,
  "JSON within a text": (text) => `Result: ${JSON.stringify({ msg: `it is ${text} ok` })} done`,
  "JSON within JSON within a text": (text) => `Result: ${JSON.stringify({ msg: JSON.stringify({ text }) })} done`,
  "JSON that is cut": (text) => JSON.stringify({ ok: 1, text: `my ${text}` }).slice(0, -2),
};
const lines: Record<string, (text: string, seen: Seen) => void> = {
  "the name of an event": (text, seen) => sends(seen, `event: ${text}\r\ndata: {}\r\n\r\n`),
  "the id of an event": (text, seen) => sends(seen, `id: ${text}\r\ndata: {}\r\n\r\n`),
  "an unknown field of an event": (text, seen) => sends(seen, `foo: ${text}\ndata: {}\n\n`),
  "a comment": (text, seen) => sends(seen, `: ${text}\n\n`),
  "a close": (text, seen) => seen.close("server", 1008, text),
  "an error": (text, seen) => seen.error("server", text),
  "a header": (text, seen) => seen.request("GET", "/", [["X-Note", text]]),
};
function sends(seen: Seen, text: string): void {
  seen.response(200, headers);
  seen.body("server", bytes(text));
}

type Seen = ReturnType<Recorder["connection"]>;

function linesOf(run: (seen: Seen) => void, options = {}): string {
  let written = "";
  const recorder = new Recorder((line) => {
    written += line;
  }, options);
  run(recorder.connection());
  recorder.flush();
  return written;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const headers = [["Content-Type", "text/event-stream"]] as const;
const dataLines = (text: string) =>
  text
    .split("\n")
    .map((line) => `data: ${line}\n`)
    .join("");

/** The messages of a recording as one text, each placed between two bars. */
function toldBy(recording: string): string {
  const told = recording
    .trim()
    .split("\n")
    .flatMap((line) => {
      const { text, base64 } = JSON.parse(line);
      return text ?? (base64 === undefined ? [] : Buffer.from(base64, "base64").toString());
    });
  const value = (text: string): string => {
    try {
      const json = JSON.parse(text);
      if (typeof json === "string") return json;
      const { delta, of, data, note } = json;
      if (data) return value(data);
      return delta ?? of?.[0].call.delta ?? (note === undefined ? text : "");
    } catch {
      return text;
    }
  };
  return told.map(value).join("").replaceAll("(other)", "");
}

/** How a text comes: each pieces of it as a message. */
const carriers: Record<string, (seen: Seen, pieces: readonly string[]) => void> = {
  "frames of plain text": (seen, pieces) => {
    for (const piece of pieces) seen.frame("server", piece);
  },
  "frames of JSON": (seen, pieces) => {
    for (const delta of pieces) seen.frame("client", JSON.stringify({ type: "text", delta }));
  },
  "frames of JSON with others between them": (seen, pieces) => {
    for (const delta of pieces) {
      seen.frame("server", JSON.stringify({ type: "text", delta }));
      seen.frame("server", JSON.stringify({ type: "progress", done: 1 }));
      seen.frame("client", JSON.stringify({ type: "ack" }));
      seen.beat("client", "ping");
    }
  },
  "frames of JSON of two types in turn": (seen, pieces) => {
    for (const delta of pieces) {
      seen.frame("server", JSON.stringify({ type: "text", delta }));
      seen.frame("server", JSON.stringify({ type: "thought", delta: "(other)" }));
      seen.frame("server", JSON.stringify({ type: "note", note: "And more." }));
    }
  },
  "frames of JSON of two calls in turn": (seen, pieces) => {
    for (const delta of pieces) {
      seen.frame("server", JSON.stringify({ of: [{ index: 0, call: { delta } }] }));
      seen.frame("server", JSON.stringify({ of: [{ index: 1, call: { delta: "(other)" } }] }));
    }
  },
  "frames of JSON in JSON": (seen, pieces) => {
    for (const delta of pieces) seen.frame("server", JSON.stringify({ data: JSON.stringify({ delta }) }));
  },
  "frames of a text of JSON": (seen, pieces) => {
    for (const piece of pieces) seen.frame("server", JSON.stringify(piece));
  },
  "frames of two kinds that an inner property tells apart": (seen, pieces) => {
    for (const delta of pieces) {
      seen.frame("server", JSON.stringify({ delta, of: [{ call: { delta } }], update: { sessionUpdate: "said" } }));
      seen.frame("server", JSON.stringify({ delta: "(other)", update: { sessionUpdate: "thought" } }));
    }
  },
  "binary frames": (seen, pieces) => {
    for (const piece of pieces) seen.frame("server", bytes(piece));
  },
  "events in turn with those of another name": (seen, pieces) => {
    seen.response(200, headers);
    for (const piece of pieces) {
      seen.body("server", bytes(`event: text\ndata: ${JSON.stringify({ delta: piece })}\n\n`));
      seen.body("server", bytes(`event: thought\ndata: ${JSON.stringify({ delta: "(other)" })}\n\n`));
    }
  },
  "events of JSON": (seen, pieces) => {
    seen.response(200, headers);
    for (const delta of pieces)
      seen.body("server", bytes(`event: text\ndata: ${JSON.stringify({ delta })}\n\n: beat\n\n`));
  },
  "events of plain text": (seen, pieces) => {
    seen.response(200, headers);
    for (const piece of pieces) seen.body("server", bytes(`${dataLines(piece)}\n`));
  },
};

/** The pieces of a text in which a part of its secret is to be seen, whole or in two, or a few characters at a time. */
function seenInPieces(text: string, secret: string, carrier: string): string[] {
  const seenIn: string[] = [];
  const split = (pieces: string[]) => {
    const recording = linesOf((seen) => carriers[carrier]!(seen, pieces));
    const told = toldBy(recording);
    // Half of a secret is none; the longer part of one is.
    const least = Math.ceil(secret.length / 2) + 1;
    for (let at = 0; at + least <= secret.length; at++)
      if (told.includes(secret.slice(at, at + least))) return void seenIn.push(pieces.join(" | "));
  };
  const from = text.indexOf(secret);
  for (let at = Math.max(1, from - 3); at < Math.min(text.length, from + secret.length); at += 3)
    split([text.slice(0, at), text.slice(at)]);
  split(text.match(/[\s\S]{1,4}/g)!);
  split(text.match(/\s*\S{1,7}/g)!);
  return seenIn;
}

describe.each(texts)("%s", (_, text, secret) => {
  test("is in no body, form of JSON, frame or event, and what is around it stays", () => {
    const whole = new Redactor().text(text);
    expect(whole).not.toContain(secret);
    expect(whole).toMatch(/__redacted_\d+__/);
    for (const value of [{ text }, { a: [{ text }] }, { text: JSON.stringify({ text }) }, { [text]: 1 }]) {
      const clean = new Redactor().text(JSON.stringify(value));
      expect(clean).not.toContain(secret);
      expect(() => JSON.parse(clean)).not.toThrow();
    }
    const said = linesOf((seen) => {
      seen.request("POST", "/", []);
      seen.body("client", bytes(text));
      seen.end("client");
      seen.response(200, []);
      seen.body("server", bytes(JSON.stringify({ text })));
      seen.end("server");
    });
    expect(said).not.toContain(secret);
  });

  test("is in no place of another text, and on no line", () => {
    const clean = Object.entries(within).map(([place, put]) => [place, new Redactor().text(put(text))]);
    if (!text.includes("\n"))
      for (const [place, put] of Object.entries(lines))
        for (const raw of [false, true]) clean.push([place, linesOf((seen) => put(text, seen), { raw })]);
    expect(clean.flatMap(([place, one]) => (one!.includes(secret) ? [place] : []))).toEqual([]);
  });

  test.each(Object.keys(carriers))(
    "is not in %s, in two pieces cut anywhere, or a few characters at a time",
    (carrier) => expect(seenInPieces(text, secret, carrier)).toEqual([]),
  );
});

/** Their lines begin where those of the text do. */
const tables: [what: string, text: string, secret: string][] = [
  ["a table", `see\n| user | password |\n|---|---|\n| me | ${WORD} |\n| you | other |\nand`, WORD],
  ["a table of a database", ` name | password \n------+-----\n me | ${WORD}\n(1 row)`, WORD],
  ["CSV", `user,password,role\nme,${WORD},admin\n`, WORD],
];
describe.each(tables)("%s", (_, text, secret) => {
  test.each(Object.keys(carriers))("is not in %s, in pieces", (carrier) =>
    expect(seenInPieces(text, secret, carrier)).toEqual([]),
  );
});

test("a secret that was seen before is found in pieces, and a pattern of the caller is", () => {
  const said = linesOf(
    (seen) => {
      seen.request("GET", "/", [["Authorization", `Bearer ${WORD}`]]);
      for (const piece of ["You are cor", "rect-horse-", "battery, ", "employee 12", "34-5 of us"])
        seen.frame("server", piece);
    },
    { patterns: [/\d{4}-\d/] },
  );
  expect(said).not.toMatch(/cor"|rect-horse|battery|12"|"34-5/);
  expect(said).toContain("You are ");
  expect(said).toContain("employee ");
});

const named = [
  "X-Session",
  "X-Session-Token",
  "X-Api-Key",
  "Api-Key",
  "X-Auth-Token",
  "Proxy-Authorization",
  "Authorization",
  "Cookie",
  "X-CSRF-Token",
  "X-Goog-Api-Key",
  "X-Guild",
];
test.each(named)("the header %s is redacted", (name) => {
  const contract = { auth: { apiKey: "required" as const, header: "X-Guild" } };
  const said = linesOf((seen) => seen.request("GET", "/", [[name, name === "Cookie" ? `a=${WORD}` : WORD]]), {
    contract,
  });
  expect(said).not.toContain(WORD);
});

describe("what is no secret stays", () => {
  const kept = [
    "interface Options { password: string; token: string }",
    "const password = await read();",
    "const token = tokens[0];",
    "The password: it must be long.",
    "key: Enter",
    "http://localhost:8080/users/@me",
    "see http://localhost:8080/a@b for more",
    "cookie: none",
    "Bearer tokens are secrets.",
    "PASSWORD=$SECRET make",
    "apiKey: process.env.KEY",
    "sk-learn and task-force-of-internationalization",
    "a == b, c := d",
    'if (name === "password") return;',
  ];
  test.each(kept)("%s", (text) => expect(new Redactor().text(text)).toBe(text));

  test("a streamed answer without secrets, in every carrier, to the byte", () => {
    const text = "The function `connect` takes a token: pass it as { token }.\nDone, with key = value pairs.";
    for (const carry of Object.values(carriers)) {
      const recording = linesOf((seen) => carry(seen, text.match(/\s*\S{1,7}/g)!));
      expect(recording).not.toContain("__redacted");
      const all = toldBy(recording)
        .replaceAll('{"type":"progress","done":1}', "")
        .replaceAll('{"type":"ack"}', "")
        .replaceAll(": beat\n\n", "");
      expect(all).toBe(text);
    }
  });
});

test("lines keep their order while a message waits, and are written within a second", async () => {
  const lines: string[] = [];
  const recorder = new Recorder((line) => void lines.push(line));
  const [one, two] = [recorder.connection(), recorder.connection()];
  one.frame("server", "wait");
  two.request("GET", "/", []);
  two.response(200, []);
  two.end("server");
  expect(lines.length).toBe(1);
  one.frame("server", " for");
  while (lines.length < 5) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(lines.slice(1, 5).map((line) => JSON.parse(line).kind)).toEqual(["frame", "request", "response", "end"]);
});

test("messages of other ids are no pieces of each other, unless all are short", () => {
  const shown = (...commands: string[]) => {
    const written: string[] = [];
    const recorder = new Recorder((line) => void written.push(line));
    const seen = recorder.connection();
    for (const [at, command] of commands.entries())
      seen.frame("server", JSON.stringify({ type: "tool", id: `t${at}`, args: { command } }));
    recorder.flush();
    return written.slice(1).map((line) => JSON.parse(JSON.parse(line).text).args.command);
  };
  for (const commands of [
    ['echo -n "password: "', "make all"],
    ['grep -n "password:" a.ts', "pytest -q tests/"],
    ["export DB_PASSWORD=", "PASS src/routes/a.test.ts"],
  ])
    expect(shown(...commands)).toEqual(commands);
  expect(shown(`ls ${KEY.slice(0, 20)}`, "npm run build")).toEqual([
    expect.stringMatching(/^ls __redacted_\d+__$/),
    "npm run build",
  ]);
  expect(shown(...`password=${WORD} `.match(/.{1,5}/g)!).join("")).not.toContain("horse");
});

test("thousands of ids and properties at once lose no message, and a secret among them is found", () => {
  const written: string[] = [];
  const recorder = new Recorder((line) => void written.push(line));
  const seen = recorder.connection();
  const said: string[] = [];
  for (let at = 0; at < 3000; at++) {
    const message = JSON.stringify({ id: `m${at}`, text: `word${at}`, [`p${at % 700}`]: "x" });
    said.push(message);
    seen.frame("server", message);
  }
  seen.frame("server", JSON.stringify({ id: "m0", text: "password=" }));
  seen.frame("server", JSON.stringify({ id: "m1", text: "no" }));
  seen.frame("server", JSON.stringify({ id: "m0", text: WORD }));
  recorder.flush();
  const texts = written.slice(1).map((line) => JSON.parse(line).text);
  expect(texts.slice(0, 3000)).toEqual(said);
  expect(texts.slice(3000).join()).toMatch(/password=.*"no".*__redacted_\d+__/);
});

test("a secret in pieces takes the place of one: others that were seen are still replaced", () => {
  const written: string[] = [];
  const seen = new Recorder((line) => void written.push(line)).connection();
  seen.request("GET", "/", [["Authorization", `Bearer ${KEY}`]], true);
  const digits = Array.from({ length: 100 }, (_, line) => `MIIE${KEY}${line}`).join("\n");
  const pem = `-----BEGIN PRIVATE KEY-----\n${digits}\n-----END PRIVATE KEY-----\n`;
  for (const delta of pem.match(/[\s\S]{1,3}/g)!) seen.frame("server", JSON.stringify({ delta }));
  seen.frame("server", JSON.stringify({ text: `the token is ${KEY}.` }));
  seen.frame("server", JSON.stringify({ text: `the key is ${pem.trim()}` }));
  seen.close("server", 1000, "");
  const shown = written.slice(2).map((line) => (JSON.parse(line) as { text?: string }).text ?? "");
  expect(new Set(written.join("").match(/__redacted_\d+__/g)).size).toBeGreaterThan(1000);
  expect(shown.join("")).not.toContain(KEY);
  expect(shown.at(-2)).toMatch(/the key is __redacted_\d+__"/);
});

test.each(["", "x", "xy", "user:", "a longer text that "])(
  "a secret that was seen is replaced in the base64 of %j with it",
  (before) => {
    for (const behind of ["", "z", "zz", " and more"])
      for (const form of ["base64", "base64url"] as const) {
        const redactor = new Redactor();
        redactor.replace(KEY);
        const text = Buffer.from(before + KEY + behind).toString(form);
        const clean = redactor.text(JSON.stringify({ text }));
        expect(clean).toContain("__redacted_1__");
        // What is left holds at most a character of the secret at each end.
        expect(clean.length).toBeLessThan(text.length - KEY.length + 40);
      }
  },
);

test.each(["token", "pwd", "ticket", "signature", "key", "code", "X-Amz-Signature"])(
  "the value in an object named %s is its value",
  (name) => {
    const clean = (value: object) => JSON.parse(new Redactor().text(JSON.stringify({ [name]: value })))[name];
    expect(clean({ value: KEY, of: "me" })).toEqual({ value: "__redacted_1__", of: "me" });
    expect(clean({ path: KEY, value: "a word" })).toEqual({ path: KEY, value: "a word" });
  },
);
