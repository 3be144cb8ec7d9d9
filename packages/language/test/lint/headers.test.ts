import { describe, expect, test } from "vitest";
import { binary } from "../../src/lint/binary.js";
import { headers } from "../../src/lint/headers.js";
import { subject, told } from "../rules.js";

// The rules of headers and bytes, alone: every word of their tables, and each way through them.

describe("A header parameter", () => {
  const of = (name: string, place = "header", more: object = {}) =>
    told(headers(subject({ operations: { o: { parameters: { [name]: { in: place } }, answer: {} } }, ...more })));
  const http = "host origin connection content-length transfer-encoding upgrade keep-alive te trailer expect".split(
    " ",
  );
  const reasons: Record<string, string> = {
    Authorization: 'carries the token: write "auth"',
    COOKIE: 'carries the cookies: write "in": "cookie" with the name of the cookie',
    "Content-Type": "says what the body is: the contract gives it",
    accept: "says what is answered: the contract gives it",
    "Cache-Control": "is set for streams",
    "Last-Event-ID": "resumes a stream",
    "Parlance-Resume": "resumes a stream",
    ...Object.fromEntries(http.map((name) => [name, "belongs to HTTP itself: give yours another name, such as X-…"])),
  };

  test.each(Object.entries(reasons))("%s %s", (name, reason) => {
    expect(of(name)).toEqual([`#/operations/o/parameters/${name} the header ${name} ${reason}`]);
    expect([of(name, "query"), of(name, "path"), of(name, "cookie")]).toEqual([[], [], []]);
    const key = told(headers(subject({ auth: { apiKey: "required", header: name } })));
    expect(key).toEqual(name === "Authorization" ? [] : [`#/auth/header "${name}" ${reason}`]);
  });

  test("has a name that can be sent, once, and is not the API key", () => {
    for (const place of ["header", "cookie"])
      for (const name of ["a b", "", "a/b", "é"])
        expect(of(name, place)).toEqual([
          `#/operations/o/parameters/${name.replace("/", "~1")} "${name}" cannot be the name of a ${place}; write letters, digits and hyphens`,
        ]);
    expect(of("X-!#$%&'*+.^_`|~0")).toEqual([]);
    const auth = { apiKey: "optional", header: "X-KEY" };
    expect(of("x-key", "header", { auth })).toEqual([
      '#/operations/o/parameters/x-key the header x-key carries the API key of "auth"; leave it out',
    ]);
    expect(of("x-key", "cookie", { auth })).toEqual([]);
    const twice = { "X-A": { in: "header" }, "x-a": { in: "header" }, "X-a": { in: "cookie" }, "x-A": { in: "query" } };
    expect(
      told(
        headers(
          subject({
            operations: {
              o: { parameters: twice, answer: {} },
              p: { parameters: { "X-A": { in: "header" } }, answer: {} },
            },
          }),
        ),
      ),
    ).toEqual(["#/operations/o/parameters/x-a is the same header as X-A: header names ignore case"]);
  });

  test.each([
    [{ bearer: "required" }, []],
    [{ apiKey: "required", header: "X-Key" }, []],
    [
      { bearer: "required", apiKey: "required" },
      ['#/auth has both "bearer" and "apiKey"; a client sends one of them, so leave one out'],
    ],
    [{}, ['#/auth needs "bearer", or "apiKey" with the "header" that carries it']],
    [{ header: "X-Key" }, ['#/auth needs "bearer", or "apiKey" with the "header" that carries it']],
    [{ apiKey: "optional" }, ['#/auth needs "header", the header that carries the API key, such as "X-API-Key"']],
    [
      { bearer: "optional", header: "X-Key" },
      ['#/auth/header is for "apiKey"; a bearer token is in the header Authorization'],
    ],
  ])("of the auth %j: %j", (auth, findings) => expect(told(headers(subject({ auth })))).toEqual(findings));

  test.each(["header", "cookie", "query", "path"])("of a channel in its %s", (place) => {
    const found = told(headers(subject({ channels: { c: { parameters: { "a/b": { in: place } } }, d: {} } })));
    expect(found).toEqual(
      place === "query" || place === "path"
        ? []
        : [
            `#/channels/c/parameters/a~1b/in is "${place}", which a browser cannot send with a WebSocket; write "in": "query", or a property of the message that opens the channel`,
          ],
    );
  });
});

describe("A header of an answer", () => {
  const of = (answer: object) => told(headers(subject({ operations: { o: { answer } } })));
  const http = "connection content-length transfer-encoding upgrade keep-alive trailer vary".split(" ");
  const reasons: Record<string, string> = {
    "Content-Type": "says what the answer is: the contract gives it",
    "set-cookie": "is kept from pages by browsers: answer the value under another name",
    "Parlance-Resume": "resumes a stream",
    "Retry-After": "is read of refusals: a handler throws a Refusal with `retryAfter`",
    "WWW-Authenticate": 'comes with 401: write "auth"',
    ...Object.fromEntries(http.map((name) => [name, "belongs to HTTP itself: give yours another name, such as X-…"])),
  };

  test.each(Object.entries(reasons))("%s %s", (name, reason) => {
    expect(of({ headers: { [name]: {} } })).toEqual([
      `#/operations/o/answer/headers/${name} the header ${name} ${reason}`,
    ]);
  });

  test("is there once, and is not one that every stream has", () => {
    expect(of({ headers: { ETag: {}, "X-A": {}, etag: {} } })).toEqual([
      "#/operations/o/answer/headers/etag is the same header as ETag: header names ignore case",
    ]);
    for (const name of ["cache-control", "X-Accel-Buffering"]) {
      const finding = `#/operations/o/answer/headers/${name} the header ${name} is set for streams`;
      expect(of({ headers: { [name]: {} }, stream: {} })).toEqual([finding]);
      expect(of({ headers: { [name]: {} } })).toEqual([]);
    }
    expect(of({ headers: { "X-Request-Id": {} }, stream: {} })).toEqual([]);
    expect([of({ stream: {} }), of({})]).toEqual([[], []]);
  });
});

describe("Bytes", () => {
  const request = (more: object, answer: object = {}) =>
    told(binary(subject({ operations: { o: { method: "POST", binary: "image/png", answer, ...more } } })));
  const at = "#/operations/o/binary";
  const simple = (type: string) =>
    `${at} is ${type}, which any page can send without being asked; write "application/octet-stream", or the file's own type`;

  test.each<[more: object, answer: object, findings: string[]]>([
    [{}, {}, []],
    [{ binary: undefined, body: "b.json" }, {}, []],
    [
      { body: "b.json" },
      {},
      [`${at} stands beside "body", and a request has one body; write the properties as parameters in the query`],
    ],
    [{ method: "GET" }, {}, [`${at} stands on a GET, which no client sends with a body; use PUT or POST`]],
    [
      { when: { a: 1 } },
      {},
      [`${at} stands beside "when", and bytes have no constants; give the operation a path of its own`],
    ],
    [
      {},
      { stream: {} },
      [`${at} stands beside a stream; upload by an operation of its own, and name the upload in the stream's body`],
    ],
    [{ binary: "application/json" }, {}, [`${at} is JSON; write "body" with the file of its schema`]],
    [{ binary: "text/plain" }, {}, [simple("text/plain")]],
    [{ binary: "application/x-www-form-urlencoded" }, {}, [simple("application/x-www-form-urlencoded")]],
    [{ binary: "multipart/form-data" }, {}, [simple("multipart/form-data")]],
    [{ binary: "text/csv" }, {}, []],
  ])("of the request %j with the answer %j", (more, answer, findings) => {
    expect(request(more, answer)).toEqual(findings);
  });

  test.each<[answer: object, findings: string[]]>([
    [{ binary: "image/png" }, []],
    [{ json: "a.json" }, []],
    [
      { json: "a.json", binary: "image/png" },
      ['binary stands beside "json", and an answer has one body; leave one out'],
    ],
    [{ text: "text/plain", stream: {} }, ['stream stands beside "text", and an answer has one body; leave one out']],
    [{ json: "a.json", text: "text/plain" }, ['text stands beside "json", and an answer has one body; leave one out']],
    [{ binary: "text/csv" }, ['binary is text/csv; write "text"']],
    [{ binary: "text/event-stream" }, ['binary is text/event-stream; write "stream"']],
    [{ binary: "application/json" }, ['binary is JSON; write "json" with the file of its schema']],
  ])("of the answer %j", (answer, findings) => {
    expect(request({ binary: undefined }, answer)).toEqual(findings.map((one) => `#/operations/o/answer/${one}`));
  });
});
