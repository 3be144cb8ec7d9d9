import { connect } from "@parlance/client";
import { compat } from "@parlance/language/compat";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import { describe, expect, it } from "vitest";
import { Conversations } from "../../src/conversation.js";
import type { Entry } from "../../src/recording.js";
import { type Finding, Verifier } from "../../src/verify.js";

// A contract whose schemas tolerate errors, at its client, its server and `verify`: readers tolerate them, writers and the record do not.

const string = { type: "string" };
const object = (title: string, properties: object, required: string[], example: object) =>
  JSON.stringify({ title, type: "object", properties, required, examples: [example] });
const pet = { id: string, legs: { type: "integer", "x-tolerance": ["default"] } };
const contract = {
  format: 1,
  name: "zoo",
  title: "Zoo",
  url: "http://localhost:1",
  tag: { in: "property", property: "type" },
  messages: { seen: { schema: "messages/seen.json" } },
  operations: {
    list: { method: "GET", path: "/pets", summary: "List.", answer: { status: 200, json: "messages/pets.json" } },
    look: {
      method: "POST",
      path: "/look/{cage}",
      summary: "Look.",
      parameters: { cage: { in: "path", type: "string" } },
      body: "messages/look.json",
      answer: { status: 200, stream: { messages: ["seen"], end: ["seen"] } },
    },
  },
  channels: {},
  fault: { schema: "messages/fault.json", text: ["/error"] },
};
const files = {
  "contract.json": JSON.stringify(contract),
  "messages/pet.json": object("Pet", pet, ["id"], { id: "p" }),
  "messages/pets.json": JSON.stringify({
    title: "Pets",
    type: "array",
    items: { $ref: "pet.json" },
    "x-tolerance": ["skip"],
    examples: [[]],
  }),
  "messages/seen.json": object("Seen", { type: { const: "seen" }, ...pet }, ["type", "id"], { type: "seen", id: "p" }),
  "messages/look.json": object("Look", { note: { ...string, "x-tolerance": ["null"] } }, [], {}),
  "messages/fault.json": object("Fault", { error: string }, ["error"], { error: "no" }),
};
const document = assemble({ name: "zoo", files });
const zoo = contractValue(document);

const odd = [{ id: "a", legs: "four" }, { id: 7 }, { id: "b", legs: 4 }];
const json = { "content-type": "application/json" };

describe("a contract with x-tolerance", () => {
  it("is read tolerantly by its client", async () => {
    const fetch: typeof globalThis.fetch = async (input) =>
      new URL(input instanceof Request ? input.url : String(input)).pathname === "/pets"
        ? new Response(JSON.stringify(odd), { headers: json })
        : new Response('data: {"type":"seen","id":"a","legs":null}\n\n', {
            headers: { "content-type": "text/event-stream" },
          });
    const client = connect(zoo, { baseUrl: "http://localhost:1", fetch });
    expect(await client.list()).toEqual([{ id: "a" }, { id: "b", legs: 4 }]);
    const seen = [];
    for await (const message of client.look({ cage: "1" })) seen.push(message);
    expect(seen).toEqual([{ type: "seen", id: "a" }]);
  });

  it("is read tolerantly and written strictly by its server", async () => {
    const inputs: unknown[] = [];
    const failures: unknown[] = [];
    const app = serve(
      zoo,
      {
        list: () => odd as never,
        async *look(input: unknown) {
          inputs.push(input);
          yield { type: "seen", id: "a" };
        },
      },
      { onError: (error) => failures.push(error) },
    );
    const ask = (path: string, init?: RequestInit) => app.fetch(new Request(`http://localhost:1${path}`, init));
    const look = { method: "POST", headers: json, body: '{"note":null,"other":1}' };
    expect((await ask("/look/1", look)).status).toBe(200);
    expect(inputs).toEqual([{ cage: "1", other: 1 }]);
    expect((await ask("/look/1", { ...look, body: '{"note":1}' })).status).toBe(400);
    expect((await ask("/pets")).status).toBe(500);
    expect(failures).toMatchObject([{ name: "Violation", code: "schema" }]);
    await app.close();
  });

  it("is verified strictly: each tolerated error is a finding about the form", async () => {
    const findings: Finding[] = [];
    const verifier = new Verifier(new Conversations(zoo, await zoo.accepts()), (one) => findings.push(one));
    verifier.header({ recording: 1 } as never);
    const headers = (type: string) => [["content-type", type]] as const;
    const at = { t: 0 };
    const exchange = (c: number, method: string, target: string, body: string | undefined, type: string): Entry[] =>
      [
        { ...at, c, kind: "request", from: "client", method, target, headers: headers("application/json") },
        ...(body === undefined ? [] : [{ ...at, c, kind: "body", from: "client", text: body }]),
        { ...at, c, kind: "response", from: "server", status: 200, headers: headers(type) },
      ] as Entry[];
    const entries: Entry[] = [
      ...exchange(1, "GET", "/pets", undefined, "application/json"),
      { ...at, c: 1, kind: "body", from: "server", text: JSON.stringify(odd) } as Entry,
      { ...at, c: 1, kind: "end", from: "server" } as Entry,
      ...exchange(2, "POST", "/look/1", '{"note":null}', "text/event-stream"),
      { ...at, c: 2, kind: "event", from: "server", text: '{"type":"seen","id":"a","legs":[]}' } as Entry,
      { ...at, c: 2, kind: "end", from: "server" } as Entry,
    ];
    entries.forEach((entry, line) => {
      verifier.entry(entry, line + 1);
    });
    verifier.end(entries.length + 1, false);
    expect(findings.map(({ rule, message }) => `${rule} ${message}`)).toEqual([
      "form server: the answer of list has an error that its schema tolerates, at /",
      "form client: the request of look has an error that its schema tolerates, at /note",
      "form server: `seen` has an error that its schema tolerates, at /legs",
    ]);
  });

  it("is the same for a peer with or without the keyword", () => {
    const strict = JSON.parse(JSON.stringify(files).replaceAll(/,\\"x-tolerance\\":\[[^\]]*\]/g, ""));
    expect(JSON.stringify(strict)).not.toContain("x-tolerance");
    expect(compat(assemble({ name: "zoo", files: strict }), document)).toEqual([]);
    expect(compat(document, assemble({ name: "zoo", files: strict }))).toEqual([]);
  });
});
