import type { Contract } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { withoutProse } from "../src/prose.js";

describe("A contract at run time", () => {
  const titles: Record<string, string> = { "a.json": "A", "f.json": "F", "b.json": "B" };
  const of = (more: object): Contract =>
    withoutProse(
      {
        format: 1,
        name: "p",
        messages: {},
        operations: {},
        channels: {},
        fault: { schema: "f.json", text: ["/e"] },
        ...more,
      },
      (file) => titles[file] ?? file,
    );
  const bare = {
    format: 1,
    name: "p",
    messages: {},
    operations: {},
    channels: {},
    fault: { schema: "F", text: ["/e"] },
  };
  const prose = { summary: "S.", description: "D.", examples: [1] };
  const call = { method: "GET", path: "/a", answer: { status: 204 } };

  test.each<[what: string, given: object, kept: object]>([
    ["nothing more than it has to", {}, {}],
    ["no prose", { $schema: "s", title: "T", type: "T", description: "D.", version: "1", formats: { a: {} } }, {}],
    [
      "what a runtime reads",
      { url: "http://x", tag: { in: "event" }, session: "s", profile: "q", profiles: { q: {} } },
      {
        url: "http://x",
        tag: { in: "event" },
        session: "s",
        profile: "q",
        profiles: { q: {} },
      },
    ],
    ["how a client is known", { auth: { bearer: "optional", ...prose } }, { auth: { bearer: "optional" } }],
    [
      "that an API key is in a header",
      { auth: { apiKey: "required", header: "X-Key" } },
      {
        auth: { apiKey: "required", header: "X-Key" },
        headers: true,
      },
    ],
    [
      "messages by the title of their schema",
      { messages: { m: { schema: "a.json", shape: { const: { k: 1 } } } } },
      {
        messages: { m: { schema: "A", shape: { const: { k: 1 } } } },
      },
    ],
    ["how long to wait before a retry", { retry: { waits: [1], ...prose, other: 1 } }, { retry: { waits: [1] } }],
    [
      "rules without their prose",
      { reading: [{ of: "server", remove: ["/a"], ...prose }] },
      {
        reading: [{ of: "server", remove: ["/a"] }],
      },
    ],
    [
      "exchanges without theirs",
      { exchanges: [{ ask: "a", by: "client", ...prose, answers: [{ message: "b", ...prose }] }, { ask: "c" }] },
      {
        exchanges: [{ ask: "a", by: "client", answers: [{ message: "b" }] }, { ask: "c" }],
      },
    ],
    [
      "channels",
      {
        channels: {
          c: { path: "/c", ...prose, parameters: { q: { in: "query", type: "string", pattern: "x", ...prose } } },
        },
      },
      {
        channels: { c: { path: "/c", parameters: { q: { in: "query", type: "string" } } } },
      },
    ],
    [
      "codes",
      { fault: { schema: "f.json", text: ["/e"], codes: { gone: { status: 404, ...prose } } } },
      {
        fault: { schema: "F", text: ["/e"], codes: { gone: { status: 404 } } },
      },
    ],
    [
      "that its parameters are in headers or cookies",
      { operations: { o: { ...call, parameters: { X: { in: "header", type: "string" } } } } },
      {
        headers: true,
        operations: { o: { ...call, parameters: { X: { in: "header", type: "string" } } } },
      },
    ],
    [
      "that they are in cookies",
      { operations: { o: { ...call, parameters: { X: { in: "cookie", type: "string", required: true } } } } },
      {
        headers: true,
        operations: { o: { ...call, parameters: { X: { in: "cookie", type: "string", required: true } } } },
      },
    ],
    [
      "an operation",
      {
        operations: {
          o: { ...call, ...prose, body: "b.json", when: { k: 1 }, answer: { status: 200, json: "a.json", ...prose } },
        },
      },
      {
        operations: { o: { ...call, body: "B", when: { k: 1 }, answer: { status: 200, json: "A" } } },
      },
    ],
    [
      "that bytes are sent",
      { operations: { o: { ...call, binary: "image/png" } } },
      {
        operations: { o: { ...call, binary: "image/png", transfer: true } },
      },
    ],
    [
      "that bytes are answered",
      { operations: { o: { ...call, answer: { status: 200, binary: "image/png" } } } },
      {
        operations: { o: { ...call, answer: { status: 200, binary: "image/png" }, transfer: true } },
      },
    ],
    [
      "headers of an answer by their type",
      {
        operations: {
          o: { ...call, answer: { status: 204, headers: { E: { type: "string", required: true, ...prose } } } },
        },
      },
      {
        operations: {
          o: { ...call, answer: { status: 204, headers: { E: { type: "string", required: true } } }, transfer: true },
        },
      },
    ],
    [
      "the refusals of an operation, and those of all that are text",
      {
        faults: { "401": { text: true, ...prose }, "404": prose },
        operations: { o: { ...call, faults: { "409": prose } }, p: call },
      },
      {
        operations: {
          o: { ...call, faults: { "401": { text: true }, "409": {} } },
          p: { ...call, faults: { "401": { text: true } } },
        },
      },
    ],
    [
      "an operation's own refusal before that of all",
      {
        faults: { "401": { text: true } },
        operations: { o: { ...call, faults: { "401": prose } } },
      },
      { operations: { o: { ...call, faults: { "401": {} } } } },
    ],
    [
      "no refusals of all that are JSON",
      { faults: { "404": prose }, operations: { o: call } },
      { operations: { o: call } },
    ],
    [
      "secret parameters",
      { operations: { o: { ...call, parameters: { q: { in: "query", type: "string", "x-secret": true } } } } },
      {
        secrets: ["q"],
        operations: { o: { ...call, parameters: { q: { in: "query", type: "string" } } } },
      },
    ],
  ])("keeps %s", (_, given, kept) => expect(of(given)).toEqual({ ...bare, ...kept }));
});
