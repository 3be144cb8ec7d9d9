import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Recorder } from "../src/recorder.js";
import type { Entry, HeaderList } from "../src/recording.js";
import { Redactor } from "../src/redaction/redactor.js";
import { replayClient } from "../src/replay/client.js";
import { ReplayServer } from "../src/replay/server.js";
import { loadTape } from "../src/replay/tape.js";

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
  recorder.flush();
  return written;
}

describe("a secret is in no line, wherever it is first seen", () => {
  const events: HeaderList = [["Content-Type", "text/event-stream"]];
  const places: [string, (seen: Seen) => void][] = [
    ["Authorization", (seen) => seen.request("GET", "/", [["Authorization", `Bearer ${SECRET}`]])],
    [
      "Authorization: Basic",
      (seen) => seen.request("GET", "/", [["authorization", `Basic ${base64(`me:${SECRET}`)}`]]),
    ],
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
    // The same secret has one placeholder; a password within Basic credentials is a second secret.
    const placeholders = new Set(text.match(/__redacted_\d+__/g));
    expect(placeholders.size).toBeLessThanOrEqual(
      place.includes("Basic") ? 2 : 1 + (place === "an object of secrets" || place === "Cookie" ? 1 : 0),
    );
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

describe("a name says by its words whether its value is a secret", () => {
  const LOOKS = "a1b2c3d4e5f6g7h8";
  const secret = [
    ..."password passwords Password newPassword db_password db-passwords password_confirmation passwordHash password1".split(
      " ",
    ),
    ..."passphrase secret secrets clientSecret client_secret credentials apiKey api_keys API-KEY apiKeyV2 accessKey".split(
      " ",
    ),
    ..."private_key signingKeys access_token accessTokens refreshToken id_token sessionToken X-Amz-Security-Token".split(
      " ",
    ),
    ..."authorization X-Auth cookies jwt user[password] login.password Proxy-Authorization X-Amz-Credential".split(" "),
  ];
  const suspect =
    "token tokens botToken ticket tickets signature X-Amz-Signature xAmzSignature sig sigs pwd key code pass".split(
      " ",
    );
  const plain = [
    ..."max_tokens_total session_id sessionId tool_call_id author authored cache_key error_code keyboard".split(" "),
    ..."passwordless compass bypass secretary tokenizer cookie_policy signed codec class passed".split(" "),
  ];

  test.each(secret)("%s is one", (name) => {
    expect(new Redactor().text(json({ [name]: "word" }))).toMatch(/":"__redacted_1__"/);
    expect(new Redactor().text(json({ [name]: ["one", { deep: "two" }] }))).not.toMatch(/one|two/);
  });
  test.each(suspect)("%s is one where the value looks like it", (name) => {
    const text = json({ [name]: "word" });
    expect(new Redactor().text(text)).toBe(text);
    for (const value of [LOOKS, ["word", LOOKS]])
      expect(new Redactor().text(json({ [name]: value }))).not.toContain(LOOKS);
    expect(new Redactor().target(`/a?${name}=${LOOKS}&b=1`)).toBe(`/a?${name}=__redacted_1__&b=1`);
  });
  test.each(plain)("%s is none", (name) => {
    const text = json({ [name]: "release-2024-11-30", more: ["release-2024-11-30"] });
    expect(new Redactor().text(text)).toBe(text);
  });
});

test("a form in parts keeps what is no secret, and its files", () => {
  const part = (head: string, value: string) => `--X\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  const form = (password: string) =>
    `${part('name="user"', "me")}${part('name="password"\r\nContent-Type: text/plain', password)}${part('name="f"; filename="a"', "\r\nx")}${part("name=api_key", password)}--X--\r\n`;
  expect(new Redactor().text(form("correct\r\nhorse"))).toBe(form("__redacted_1__"));
  const encoded = (value: string) => `${part("name*=UTF-8''pass%77ord", value)}--X--\r\n`;
  expect(new Redactor().text(encoded("correct\r\nhorse"))).toBe(encoded("__redacted_1__"));
  // A file in it may be no text.
  const [, body] = lines((seen) => {
    seen.request("POST", "/", [["Content-Type", "multipart/form-data; boundary=X"]]);
    seen.body("client", new Uint8Array([...bytes(form(SECRET)), 0xff]));
    seen.end("client");
  })
    .slice(1)
    .map((line) => JSON.parse(line));
  expect(atob(body.base64)).not.toContain(SECRET);
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
    const tape = await loadTape([bytes(written.join(""))]);
    const server = new ReplayServer(tape);
    const answer = await server.fetch(new Request("http://localhost/", { method: "POST" }));
    expect([answer.headers.get("content-encoding"), await answer.text()]).toEqual([null, ""]);
    expect(server.close()).toMatchObject([{ kind: "left", message: expect.stringContaining("encoded: gzip") }]);
    const problems = await replayClient(tape, { fetch: async () => new Response("any") });
    expect(problems).toMatchObject([{ kind: "left", message: expect.stringContaining("not in the recording") }]);
  });
});

test("a binary frame stays binary where its bytes are text, without the secrets in them", () => {
  const [, frame] = lines((seen) => seen.frame("client", bytes(json({ password: SECRET, name: "ä" }))));
  const { base64, ...line } = JSON.parse(frame!);
  expect(line).not.toHaveProperty("text");
  expect(JSON.parse(Buffer.from(base64, "base64").toString())).toEqual({ password: "__redacted_1__", name: "ä" });
});
