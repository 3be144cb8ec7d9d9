import { generate } from "@parlance/language/generate";
import { ImportError, importContract } from "@parlance/language/import";
import { assemble } from "@parlance/language/load";
import { describe, expect, it } from "vitest";

const run = async (document: object, prose = false) => {
  const made = await importContract(JSON.stringify(document), { name: "other", origin: "other.json", prose });
  const values = Object.entries(made.files).map(([file, text]) => [file, JSON.parse(text)]);
  return { ...made, values: Object.fromEntries(values), contract: JSON.parse(made.files["contract.json"]!) };
};
const text = { type: "string" };
const tagged = (type: string, more: object = {}) => ({
  type: "object",
  required: ["type", ...Object.keys(more)],
  properties: { type: { const: type }, ...more },
});
const openapi = (paths: object, more: object = {}) => ({
  openapi: "3.1.0",
  info: { title: "Other", version: "1" },
  paths,
  ...more,
});
const json = (schema: object) => ({ content: { "application/json": { schema } } });

const documents: [what: string, document: object, contract: object, notes: string[]][] = [
  [
    "a union of messages, told apart by a property",
    {
      oneOf: [{ $ref: "#/$defs/Text" }, { $ref: "#/$defs/Done" }],
      $defs: { Text: tagged("text", { delta: text }), Done: tagged("done") },
    },
    {
      tag: { in: "property", property: "type" },
      messages: { text: { schema: "messages/text.json" }, done: { schema: "messages/done.json" } },
      operations: { receive: { answer: { stream: { messages: ["text", "done"] } } } },
    },
    [],
  ],
  [
    "a union in which one has no constant",
    {
      anyOf: [
        tagged("a"),
        tagged("b"),
        tagged("c"),
        { type: "object", properties: { type: { type: "string", pattern: "^d-" } } },
      ],
    },
    { messages: { a: {}, b: {}, c: {} } },
    ["/anyOf/3 has no constant for type, by which the others are told apart, and is left out"],
  ],
  [
    "a union that several constants tell apart",
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      oneOf: [
        { type: "object", required: ["on", "what"], properties: { on: { const: "a" }, what: { const: "x" } } },
        { type: "object", required: ["on", "what"], properties: { on: { const: "a" }, what: { const: "y" } } },
        { type: "object", required: ["on"], properties: { on: { const: "b" } } },
        { type: "object", required: ["on", "what"], properties: { on: { const: "c" }, what: { const: "y" } } },
      ],
    },
    { tag: { in: "shape" }, messages: { a_x: { shape: { const: { on: "a", what: "x" } } }, a_y: {}, b: {}, c_y: {} } },
    [],
  ],
  [
    "one schema, with a definition that it refers to",
    {
      title: "Person",
      type: "object",
      properties: { pet: { $ref: "#/definitions/Pet" } },
      definitions: { Pet: { type: "object" }, Unused: {} },
    },
    { tag: { in: "event" }, messages: { person: { schema: "messages/person.json" } } },
    [],
  ],
  [
    "definitions: those that nothing refers to",
    {
      $defs: {
        A: { type: "object", properties: { b: { $ref: "#/$defs/B" } } },
        B: { type: "object" },
        C: { type: "object" },
        N: text,
      },
    },
    { messages: { a: { schema: "messages/a.json" }, c: { schema: "messages/c.json" } } },
    [],
  ],
  [
    "methods of JSON-RPC, by their constant",
    {
      $defs: {
        PingRequest: {
          type: "object",
          properties: { method: { const: "ping" }, id: text },
          required: ["method", "id"],
        },
        ListRequest: {
          type: "object",
          properties: { method: { const: "list" }, params: { $ref: "#/$defs/ListParams" } },
          required: ["method"],
        },
        ListParams: { type: "object", properties: { cursor: text } },
        ListResult: { type: "object", properties: { all: { type: "array", items: text } } },
        SaidNotification: { type: "object", properties: { method: { const: "said" } }, required: ["method"] },
        ClientRequest: { anyOf: [{ $ref: "#/$defs/PingRequest" }, { $ref: "#/$defs/ListRequest" }] },
        ServerRequest: { anyOf: [{ $ref: "#/$defs/PingRequest" }] },
      },
    },
    {
      format: 2,
      methods: {
        ping: { by: "both", result: "messages/ping-result.json" },
        list: { by: "client", params: "messages/list-params.json", result: "messages/list-result.json" },
        said: { by: "both" },
      },
    },
    ["/$defs/PingRequest has no result of its name in the file, and is answered with any object"],
  ],
  [
    "methods of JSON-RPC, by the marks of their writer",
    {
      $defs: {
        NewRequest: { type: "object", "x-method": "new", "x-side": "agent" },
        NewResponse: { type: "object", "x-method": "new", "x-side": "agent" },
        Update: { type: "object", "x-method": "update", "x-side": "client" },
      },
    },
    {
      methods: {
        new: { by: "client", params: "messages/new-request.json", result: "messages/new-response.json" },
        update: { by: "server" },
      },
    },
    [],
  ],
  [
    "operations of OpenAPI",
    openapi(
      {
        "/tasks/{id}": {
          parameters: [{ $ref: "#/components/parameters/id" }],
          post: {
            operationId: "Tasks.run",
            parameters: [
              { name: "dry", in: "query", required: true, schema: { type: "boolean" } },
              { name: "tags", in: "query", schema: { type: "array" } },
              { name: "Authorization", in: "header", schema: text },
            ],
            requestBody: json({ $ref: "#/components/schemas/Task" }),
            responses: {
              201: { ...json({ $ref: "#/components/schemas/Task" }), headers: { ETag: { schema: text } } },
              404: { description: "Theirs." },
            },
          },
        },
      },
      {
        servers: [{ url: "https://example.com/v1/" }],
        security: [{ key: [] }],
        components: {
          parameters: { id: { name: "id", in: "path", required: true, schema: { type: "integer" } } },
          schemas: { Task: { type: "object", properties: { id: text } } },
          securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } },
        },
      },
    ),
    {
      url: "https://example.com/v1",
      auth: { apiKey: "required", header: "X-Key" },
      operations: {
        tasksRun: {
          path: "/tasks/{path_id}",
          parameters: {
            path_id: { in: "path", type: "integer" },
            dry: { in: "query", type: "boolean", required: true },
            tags: { type: "string" },
          },
          body: "messages/task.json",
          answer: { status: 201, json: "messages/task.json", headers: { ETag: { type: "string" } } },
          faults: { 404: { description: "Status 404." } },
        },
      },
    },
    [
      "/paths/~1tasks~1{id}/post/parameters/1 the parameter tags is no single text, number or boolean; it is a text here",
    ],
  ],
  [
    "a stream of OpenAPI, and JSON for those who ask for none",
    openapi({
      "/chat": {
        post: {
          requestBody: json({ type: "object", properties: { stream: { type: "boolean", default: false } } }),
          responses: {
            200: {
              content: {
                "application/json": { schema: { type: "object" } },
                "text/event-stream": { schema: { oneOf: [tagged("text"), tagged("done")] } },
              },
            },
          },
        },
      },
    }),
    {
      tag: { in: "property", property: "type" },
      operations: {
        postChat: { when: { stream: false }, answer: { json: "messages/post-chat-answer.json" } },
        postChatStream: { when: { stream: true }, answer: { stream: { messages: ["text", "done"] } } },
      },
    },
    [],
  ],
  [
    "what of OpenAPI a contract cannot have",
    openapi({
      "/a": { get: { responses: { 200: { content: { "text/plain": {} } } } } },
      "/form": { post: { requestBody: { content: { "multipart/form-data": {} } }, responses: {} } },
      "/list": { post: { requestBody: json({ type: "array" }), responses: {} } },
      "/a?b=1": { get: { responses: {} } },
    }),
    { operations: { getA: { answer: { text: "text/plain" } } } },
    [
      "/paths/~1form/post has a body of multipart/form-data, and the operation is left out",
      "contract.json#/operations/getAB1 is left out: has a query or a fragment; write what is in the query as parameters",
      "contract.json#/operations/postList is left out: messages/post-list-body.json must describe an object, because a body's properties become part of one flat input",
    ],
  ],
];

describe("importContract makes a contract that lints and generates of", () => {
  it.each(documents)("%s", async (_, document, contract, notes) => {
    const made = await run(document);
    expect(made.findings).toEqual([]);
    expect(made.contract).toMatchObject(contract);
    for (const kind of ["messages", "operations", "methods"] as const)
      if (kind in contract) expect(Object.keys(made.contract[kind])).toEqual(Object.keys((contract as never)[kind]));
    expect(made.notes.map(({ pointer, message }) => `${pointer} ${message}`).sort()).toEqual([...notes].sort());
    expect(Object.keys(await generate(assemble({ name: "other", files: made.files })))).toHaveLength(4);
  });
});

const refused: [document: string, message: string][] = [
  [
    "openapi: 3.1.0",
    "is not JSON: line 1, column 1: this is no value of JSON; a string stands in double quotes; convert YAML to JSON first",
  ],
  ["[]", "is no JSON object: a JSON Schema or an OpenAPI 3 document is one"],
  ['{"swagger":"2.0"}', "is OpenAPI 2.0; convert it to OpenAPI 3 first"],
  ['{"openapi":"4.0.0"}', "is OpenAPI 4.0.0; there is an importer for 3.0 and 3.1"],
  ['{"asyncapi":"3.0.0"}', "is AsyncAPI; import the JSON Schema of its messages"],
  ['{"name":"x"}', 'is neither JSON Schema nor OpenAPI 3: it has no "openapi", and no keyword of a schema'],
  ['{"$defs":{"A":{"type":"string"}}}', "has no schema of an object, and a message is one"],
  [
    '{"openapi":"3.0.0","paths":{"/a":{"get":{"requestBody":{},"responses":{}}}}}',
    "has no operation that a contract can have; /paths/~1a/get has a body, which no client sends with a GET, and the operation is left out",
  ],
  [
    '{"type":"string"}',
    "has nothing that a contract can have; /messages/message describes string, and a message is an object; put the value into a property",
  ],
];

it.each(refused)("refuses %s", async (document, message) => {
  const failure = await importContract(document, { name: "other", origin: "x" }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ImportError);
  expect((failure as Error).message).toBe(message);
});

describe("importContract", () => {
  const described = { ...tagged("a"), title: "A thing", description: "Theirs.", examples: [{ type: "a", theirs: 1 }] };
  const document = { title: "Other", oneOf: [described, tagged("b")] };
  it("copies no prose, unless asked", async () => {
    const { files } = await run(document);
    expect(Object.values(files).join("")).not.toMatch(/Theirs|theirs/);
    const { values } = await run(document, true);
    expect(values["messages/amessage.json"] ?? values["messages/a-message.json"]).toMatchObject({
      description: "Theirs.",
      examples: [{ type: "a", theirs: 1 }],
    });
  });

  it("gives each message an example that its schema accepts, however it is limited", async () => {
    const limits = {
      code: { type: "string", pattern: "^[A-Z]{3}-\\d{2}$" },
      at: { type: "string", format: "date-time" },
      count: { type: "integer", minimum: 3, multipleOf: 5 },
      list: { type: "array", minItems: 2, uniqueItems: true, items: { type: "integer" } },
      self: { anyOf: [{ type: "null" }, { $ref: "#" }] },
    };
    const { findings } = await run({
      title: "Made",
      type: "object",
      required: Object.keys(limits),
      properties: limits,
    });
    expect(findings).toEqual([]);
  });
});
