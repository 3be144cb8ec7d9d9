import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Recorder } from "../../src/recorder.js";
import type { Entry, HeaderList } from "../../src/recording.js";
import { secretsInEnvironment } from "../../src/redaction/names.js";
import { Redactor } from "../../src/redaction/redactor.js";
import { replayClient } from "../../src/replay/client.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { ReplayServer } from "../../src/replay/server.js";

const SECRET = "hunter2-hunter2-hunter2";
const bytes = (text: string) => new TextEncoder().encode(text);
const base64 = (text: string) => Buffer.from(text).toString("base64");
const json = (value: unknown) => JSON.stringify(value);

type Seen = ReturnType<Recorder["connection"]>;
const post = (text: string) => (seen: Seen) => {
  seen.request("POST", "/", []);
  seen.body("client", bytes(text));
  seen.end("client");
};
const stream = (text: string) => (seen: Seen) => {
  seen.response(200, [["Content-Type", "text/event-stream"]]);
  seen.body("server", bytes(text));
  seen.end("server");
};

/** Lines of a recording of one connection. */
function lines(run: (seen: Seen) => void, options = {}): string[] {
  const written: string[] = [];
  const recorder = new Recorder((line) => void written.push(line), options);
  run(recorder.connection());
  return written;
}

describe("a secret is in no line, wherever it is first seen", () => {
  const events: HeaderList = [["Content-Type", "text/event-stream"]];
  const places: [string, (seen: Seen) => void][] = [
    ["Authorization", (seen) => seen.request("GET", "/", [["Authorization", `Bearer ${SECRET}`]])],
    ["Proxy-Authorization", (seen) => seen.request("GET", "/", [["Proxy-Authorization", SECRET]])],
    ["Cookie", (seen) => seen.request("GET", "/", [["Cookie", `theme=dark; sid=${SECRET}`]])],
    ["Set-Cookie", (seen) => seen.response(200, [["Set-Cookie", `sid=${SECRET}; Path=/; HttpOnly`]])],
    ["X-API-Key", (seen) => seen.request("GET", "/", [["X-Api-Key", SECRET]])],
    ["a header of the contract", (seen) => seen.request("GET", "/", [["X-Guild", SECRET]])],
    [
      "a subprotocol's ticket",
      (seen) => seen.request("GET", "/", [["Sec-WebSocket-Protocol", `parlance.${SECRET}`]], true),
    ],
    [
      "a subprotocol's token",
      (seen) => seen.request("GET", "/", [["Sec-WebSocket-Protocol", `bearer, ${SECRET}`]], true),
    ],
    ["the query", (seen) => seen.request("GET", `/?access_token=${SECRET}&page=1`, [])],
    ["a parameter of the contract", (seen) => seen.request("GET", `/?badge=${SECRET}`, [])],
    ["a property", post(json({ a: [{ password: SECRET }] }))],
    ["an object of secrets", (seen) => seen.frame("client", json({ credentials: { user: "me", with: SECRET } }))],
    ["a property of the contract", (seen) => seen.frame("server", json({ badge: SECRET }))],
    ["JSON within JSON", (seen) => seen.frame("server", json({ input: json({ api_key: SECRET }) }))],
    ["a form", post(`user=me&password=${SECRET}`)],
    ["a ticket that is offered", (seen) => seen.frame("server", json({ ticket: SECRET, received: 0 }))],
    ["a pattern of the caller", (seen) => seen.frame("server", `before ${SECRET} after`)],
    ["an event", stream(`event: a\r\ndata: ${json({ secret: SECRET })}\r\n\r\n`)],
  ];
  /** What may hold it later. */
  const later = (seen: ReturnType<Recorder["connection"]>): void => {
    seen.frame("server", json({ text: `It is ${SECRET}.` }));
    seen.frame("client", new Uint8Array([0xff, ...bytes(SECRET), 0xfe]));
    seen.close("server", 1008, `no ${SECRET}`);
    seen.request("GET", `/${SECRET}/x?q=${SECRET}`, [
      ["X-Note", SECRET],
      ["Referer", `http://a/?token=${SECRET}`],
    ]);
    seen.response(200, events);
    seen.body("server", bytes(`: ${SECRET}\n\nid: ${SECRET}\nevent: ${SECRET}\ndata: ${SECRET}\n\n`));
    seen.error("server", `lost ${SECRET}`);
  };
  const contract = { secrets: ["badge"], auth: { apiKey: "required" as const, header: "X-Guild" } };

  test.each(places)("%s", (place, first) => {
    const patterns = place === "a pattern of the caller" ? [/hunter2-hunter2-hunter2/] : [];
    const written = lines((seen) => [first, later].forEach((step) => void step(seen)), { contract, patterns });
    const text = written.join("");
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain(base64(SECRET).slice(0, 20));
    expect(
      Buffer.from(
        (JSON.parse(written.find((line) => line.includes("base64"))!) as { base64: string }).base64,
        "base64",
      ).toString("latin1"),
    ).not.toContain("hunter2");
    const placeholders = new Set(text.match(/__redacted_\d+__/g));
    const others = place === "an object of secrets" || place === "Cookie" ? 1 : 0;
    expect(placeholders.size).toBeLessThanOrEqual(1 + others);
  });
});

describe("what is no secret stays", () => {
  const kept = [
    json({ type: "assistant.token", token: "internationalization" }),
    json({ session_id: "550e8400-e29b-41d4-a716-446655440000", max_tokens: 4096, total_tokens: 12 }),
    json({ usage: { prompt_tokens: 12 }, key: "Enter" }),
    '{ "spaces" : 1.0 }',
    "Basic authentication is simple.",
  ];
  test.each(kept)("%s", (text) => expect(new Redactor().text(text)).toBe(text));

  test("a short cookie is not looked for elsewhere", () => {
    const redactor = new Redactor();
    expect(redactor.headers([["Cookie", "theme=dark"]])).toEqual([["Cookie", "theme=__redacted_1__"]]);
    expect(redactor.text("a dark night")).toBe("a dark night");
  });
});

test("metadata alone has sizes instead of texts, and neither queries nor values of headers", () => {
  const written = lines(
    (seen) => {
      seen.request("POST", "/a?b=horse", [
        ["X-A", "dog"],
        ["Content-Type", "application/json"],
      ]);
      seen.body("client", bytes('{"a":"bird"}'));
      seen.end("client");
    },
    { metadataOnly: true },
  );
  const [request, body] = written.slice(1).map((line) => JSON.parse(line) as Entry);
  expect(request).toMatchObject({
    target: "/a",
    headers: [
      ["X-A", ""],
      ["Content-Type", "application/json"],
    ],
  });
  expect(body).toMatchObject({ kind: "body", size: 12 });
  expect(written.join("")).not.toMatch(/horse|dog|bird/);
});

describe("the name of a property, parameter or header", () => {
  const LOOKS = "a1b2c3d4e5f6g7h8";
  const secret = [
    ..."password passwords Password newPassword db_password db-passwords passwd passphrase secret clientSecret".split(
      " ",
    ),
    ..."client_secret credentials apiKey api_keys API-KEY accessKey private_key access_token refreshToken".split(" "),
    ..."sessionToken authorization Proxy-Authorization cookie user[password] login.password secret_key".split(" "),
  ];
  const suspect = "token tokens botToken ticket X-Amz-Security-Token".split(" ");
  const plain = [
    ..."max_tokens_total session_id sessionId tool_call_id author cache_key error_code keyboard key code".split(" "),
    ..."passwordless compass secretary tokenizer cookie_policy signed signature пароль contraseña".split(" "),
  ];

  test.each(secret)("%s makes its value a secret", (name) => {
    expect(new Redactor().text(json({ [name]: "word" }))).toMatch(/":"__redacted_1__"/);
    expect(new Redactor().text(json({ [name]: ["one", { deep: "two" }] }))).not.toMatch(/one|two/);
    expect(new Redactor().target(`/a?${name}=one+two&b=1`)).toBe(`/a?${name}=__redacted_1__&b=1`);
  });
  test.each(suspect)("%s makes its value a secret where the value looks like one", (name) => {
    const text = json({ [name]: "word" });
    expect(new Redactor().text(text)).toBe(text);
    for (const value of [LOOKS, ["word", LOOKS]])
      expect(new Redactor().text(json({ [name]: value }))).not.toContain(LOOKS);
    expect(new Redactor().target(`/a?${name}=${LOOKS}&b=1`)).toBe(`/a?${name}=__redacted_1__&b=1`);
  });
  test.each(plain)("%s leaves its value", (name) => {
    const text = json({ [name]: "release-2024-11-30", more: ["release-2024-11-30"] });
    expect(new Redactor().text(text)).toBe(text);
  });
});

describe("headers", () => {
  test.each([
    ["Content-Type", "application/json"],
    ["Sec-WebSocket-Protocol", "chat, v1.loco"],
    ["Access-Control-Allow-Origin", "*"],
    ["Parlance-Resume", "ready"],
    ["X-Level", "3"],
    ["Location", "/a/b?c=d"],
  ])("keep %s", (name, value) => {
    const contract = { operations: { a: { path: "/a", parameters: { "X-Level": { in: "header" } } } } } as never;
    expect(new Redactor({ contract }).headers([[name, value]])).toEqual([[name, value]]);
  });
  test.each([
    ["X-Level", "3", "__redacted_1__"],
    ["Cf-Access-Jwt", "word", "__redacted_1__"],
    ["Authorization", "Bearer a b", "Bearer __redacted_1__"],
    ["Cookie", "theme=dark; sid=1", "theme=__redacted_1__; sid=__redacted_2__"],
    ["Set-Cookie", "sid=1; Path=/", "sid=__redacted_1__; Path=/"],
    ["Sec-WebSocket-Protocol", "bearer, word", "bearer, __redacted_1__"],
    ["Sec-WebSocket-Protocol", "parlance.word", "parlance.__redacted_1__"],
    ["Parlance-Resume", "0123456789abcdef0123456789abcdef", "__redacted_1__"],
    ["Referer", "http://a/?api_key=word", "http://a/?api_key=__redacted_1__"],
  ])("leave out the value of %s: %s", (name, value, clean) => {
    expect(new Redactor().headers([[name, value]])).toEqual([[name, clean]]);
  });
  test("that are unknown are not searched for in texts", () => {
    const redactor = new Redactor();
    redactor.headers([["X-Note", "release-2024-11-30"]]);
    expect(redactor.text("release-2024-11-30")).toBe("release-2024-11-30");
  });
});

describe("a text", () => {
  const tokens = [
    `sk-${"a1".repeat(12)}`,
    `ghp_${"a1".repeat(12)}`,
    `github_pat_${"a1".repeat(12)}`,
    `glpat-${"a1".repeat(12)}`,
    `AKIA${"A1".repeat(8)}`,
    `AIza${"a1-_b".repeat(7)}`,
    `xoxb-${"1".repeat(12)}`,
    `npm_${"a1".repeat(12)}`,
    `hf_${"a1".repeat(12)}`,
    `sk_live_${"a1".repeat(12)}`,
    `eyJ${"a".repeat(12)}.eyJ${"b".repeat(12)}.${"c".repeat(12)}`,
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
  ];
  test.each(tokens.map((token) => [token.slice(0, 12), token]))("has no %s…", (_, token) => {
    for (const text of [`It is ${token}.`, json({ text: `x ${token}` }), `a=${encodeURIComponent(token)}`])
      expect(new Redactor().text(text)).toMatch(/^[^_]*__redacted_\d+__[^_]*$/);
  });
  test("has no password of a connection string", () => {
    expect(new Redactor().scrub("postgres://me:word@db/a")).toBe("postgres://me:__redacted_1__@db/a");
  });
  test("is not searched for other secrets", () => {
    const text = "The password is hunter2-hunter2, and DB_PASSWORD=correct-horse-1.";
    expect(new Redactor().text(text)).toBe(text);
  });
});

describe("a secret of the caller is in no line", () => {
  const secrets = [
    "correcthorse",
    "package.json",
    "pässwörd-密码🔑",
    'it\'s <b>"q"</b>',
    "C:\\temp\\new",
    "a/b+c d%41?e=f&g",
  ];
  const forms: Readonly<Record<string, (secret: string) => string>> = {
    "as it is": (secret) => `before ${secret} after`,
    "in JSON": (secret) => json({ a: [{ note: secret }], [secret]: 1 }),
    "in JSON in JSON": (secret) => json({ a: json({ b: `x ${secret} y` }) }),
    "in a URL": (secret) => `see http://a/?x=${encodeURIComponent(secret)}&y=1 there`,
    "in base64": (secret) => `x ${base64(secret)} y`,
  };
  test.each(Object.entries(forms))("%s", (_, write) => {
    for (const secret of secrets) {
      const text = write(secret);
      const written = lines(
        (seen) => {
          seen.request("POST", `/${encodeURIComponent(text)}?a=${encodeURIComponent(text)}`, []);
          post(text)(seen);
          stream(`event: ${text.replaceAll("\n", "")}\ndata: ${json({ text })}\n\n`)(seen);
          seen.frame("server", text);
          seen.frame("server", new Uint8Array([0xff, ...bytes(text), 0xfe]));
          seen.close("server", 1008, text);
        },
        { secrets },
      );
      const plain = written.map((line) => {
        const { base64: packed, ...rest } = JSON.parse(line);
        return `${decodeURIComponent(json(rest))} ${packed ? Buffer.from(packed, "base64").toString() : ""}`;
      });
      for (const form of [secret, json(secret).slice(1, -1), base64(secret)])
        expect(plain.slice(1).join("\n")).not.toContain(form);
    }
  });
  test("has 8 characters or more", () => {
    expect(() => new Redactor({ secrets: ["1234567"] })).toThrow("a secret needs 8 characters or more to be found");
  });
  test("may be named by the environment", () => {
    const variables = {
      GITHUB_TOKEN: "a1b2c3d4e5",
      SIGNING_KEY: "b1b2c3d4e5",
      DB_PASSWORD: "word",
      HOME: "/home/me-1234",
    };
    expect(secretsInEnvironment({ ...variables, KEY_SECRET: "/run/secrets/a", A_TOKEN: "localhost:8080" })).toEqual([
      "a1b2c3d4e5",
      "b1b2c3d4e5",
    ]);
  });
});

test("the oldest of a thousand secrets is forgotten, and a later one is found", () => {
  const redactor = new Redactor();
  const secret = (at: number) => `secret-value-${String(at).padStart(4, "0")}`;
  for (let at = 0; at <= 1000; at++) redactor.replace(secret(at));
  expect(redactor.scrub(`${secret(0)} ${secret(1)}`)).toBe(`${secret(0)} __redacted_2__`);
});

describe("the time for a hostile text grows with its length, not faster, for", () => {
  const hostile = [
    "://a:",
    "eyJ",
    "eyJ.",
    "-----BEGIN PRIVATE KEY-----",
    "sk-",
    "a=",
    "%22",
    "%",
    "?a=%3D&",
    "\\",
    "ghp_",
    "a:",
  ];
  test.each(hostile)("%s", (part) => {
    const time = (length: number) => {
      const text = part.repeat(length / part.length);
      let best = Number.POSITIVE_INFINITY;
      for (let times = 0; times < 5; times++) {
        // Processor time, because other programs share the machine.
        const from = process.cpuUsage();
        const redactor = new Redactor({ secrets: ["eyJeyJeyJ-x", "a=a=a=a=a=x"] });
        redactor.text(text);
        redactor.target(`/?${text}`);
        const { user, system } = process.cpuUsage(from);
        best = Math.min(best, (user + system) / 1000);
      }
      return best;
    };
    time(2_000);
    // 16 times as long: a square would be 256.
    expect(time(128_000) / Math.max(2, time(8_000))).toBeLessThan(100);
  });
});

describe("what cannot be read is not kept", () => {
  const text = bytes(json({ password: SECRET }));
  const utf16 = Buffer.from(json({ password: SECRET }), "utf16le");
  const bodies: [string, HeaderList, Uint8Array][] = [
    ["gzip", [["Content-Encoding", "gzip"]], gzipSync(text)],
    ["deflate", [["content-encoding", "deflate"]], deflateSync(text)],
    ["br", [["Content-Encoding", "br"]], brotliCompressSync(text)],
    ["gzip", [["Content-Encoding", "identity, GZIP"]], gzipSync(text)],
    ["rot13", [["Content-Encoding", "rot13"]], bytes("unknown, but of letters only")],
    ["gzip", [["Transfer-Encoding", "gzip, chunked"]], gzipSync(text)],
    ["gzip", [["Content-Type", "application/octet-stream"]], gzipSync(text)],
    ["deflate", [], deflateSync(text)],
    ["utf-16le", [["Content-Type", "text/plain; charset=utf-16le"]], utf16],
    ["utf-16", [], Buffer.concat([new Uint8Array([0xff, 0xfe]), utf16])],
  ];
  const run = (seen: Seen, headers: HeaderList, body: Uint8Array) => {
    seen.request("POST", "/", headers);
    seen.body("client", body);
    seen.end("client");
    seen.response(200, [...headers, ...(headers.length === 1 ? [] : [["Content-Type", "text/event-stream"] as const])]);
    seen.body("server", body.subarray(0, 5));
    seen.body("server", body.subarray(5));
    seen.end("server");
  };

  test.each(bodies)("%s by %j", (encoding, headers, body) => {
    const whole = headers.length > 0;
    const entries = lines((seen) => run(seen, headers, body))
      .slice(1)
      .map((line) => JSON.parse(line) as Entry);
    const kept = entries.filter((entry) => entry.kind === "body");
    expect(kept.slice(0, whole ? 2 : 1)).toMatchObject(
      ["client", "server"].slice(0, whole ? 2 : 1).map((from) => ({ from, size: body.length, encoding })),
    );
    expect(kept[0]).not.toHaveProperty("text");
    expect(kept[0]).not.toHaveProperty("base64");
    // It is kept when the caller keeps secrets, and goes when another opens that file.
    const all = lines((seen) => run(seen, headers, body), { redact: false })
      .slice(1)
      .map((line) => JSON.parse(line) as Entry);
    const own = all.filter((entry) => entry.kind === "body")[0]!;
    expect(own.kind === "body" && (own.text ?? own.base64)).toBeTruthy();
    const redactor = new Redactor();
    const again = all.map((entry) => redactor.entry(entry)).filter((entry) => entry.kind === "body")[0];
    expect(again).toMatchObject({ encoding });
    expect(again).not.toHaveProperty("text");
    expect(again).not.toHaveProperty("base64");
  });

  test("a replay says so, as the server and as the client", async () => {
    const written: string[] = [];
    const recorder = new Recorder((line) => void written.push(line));
    run(recorder.connection(), [["Content-Encoding", "gzip"]], gzipSync(text));
    const conversation = await loadRecording([bytes(written.join(""))]);
    const server = new ReplayServer(conversation);
    const answer = await server.fetch(new Request("http://localhost/", { method: "POST" }));
    expect([answer.status, answer.headers.get("content-encoding")]).toEqual([501, null]);
    expect(await answer.text()).toContain("encoded: gzip");
    expect(server.close()).toMatchObject([{ kind: "left", message: expect.stringContaining("encoded: gzip") }]);
    const problems = await replayClient(conversation, { fetch: async () => new Response("any") });
    expect(problems).toMatchObject([{ kind: "left", message: expect.stringContaining("not in the recording") }]);
  });
});

test("a binary frame stays binary where its bytes are text, without the secrets in them", () => {
  const [, frame] = lines((seen) => seen.frame("client", bytes(json({ password: SECRET, name: "ä" }))));
  const { base64, ...line } = JSON.parse(frame!);
  expect(line).not.toHaveProperty("text");
  expect(JSON.parse(Buffer.from(base64, "base64").toString())).toEqual({ password: "__redacted_1__", name: "ä" });
});
