import { describe, expect, test } from "vitest";
import { Recorder } from "../src/recorder.js";
import type { Entry, HeaderList } from "../src/recording.js";
import { Redactor } from "../src/redact.js";

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
  run(new Recorder((line) => void written.push(line), options).connection());
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
