import { docs } from "@parlance/language/generate";
import { assemble } from "@parlance/language/load";
import { type ContractDocument, carriersOf, type SchemaObject } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import { expect, test } from "vitest";
import { mapSchema } from "../../src/walk.js";
import { type Edit, pets } from "../pets.js";
import { named } from "./contracts.js";
import { everything } from "./everything.js";

// The documents are read back, and each fact in them is compared with the contract's.

// biome-ignore lint/suspicious/noExplicitAny: JSON that the official parsers have accepted
type Loose = any;

const variants: [string, Edit][] = [
  ["everything", everything],
  ["everything, without need of a token", { ...everything, set: { ...everything.set, "#/auth/bearer": "optional" } }],
  [
    "everything, with a key",
    { ...everything, set: { ...everything.set, "#/auth": { apiKey: "required", header: "X-Key" } } },
  ],
  [
    "everything, by event",
    { ...everything, set: { ...everything.set, "#/tag": { in: "event" }, "#/url": "https://pets.example" } },
  ],
];
const cases: (readonly [string, ContractDocument])[] = [
  ...named,
  ...variants.map(([name, edit]) => [name, assemble(pets(edit))] as const),
];

function read(document: ContractDocument, kind: string): Loose {
  return JSON.parse(docs(document)[`${document.contract.name}.${kind}.json`]!);
}

/** What a reference of a schema in this file leads to: the title of another file's schema, and the fragment in it. */
function targetOf({ schemas }: ContractDocument, from: SchemaObject, $ref: string): string {
  const url = new URL($ref, `file://${from.$id}`);
  const [title] = Object.entries(schemas).find(([, { $id }]) => $id === url.pathname)!;
  return `${title}${url.hash.slice(1)}`;
}

/** Both forms of the schemas, with references by what they lead to. */
function schemasOf(document: ContractDocument): Loose {
  const plain = (schema: SchemaObject) =>
    mapSchema(schema, ({ $id, tsType, ...one }) =>
      typeof one.$ref === "string" ? { ...one, $ref: targetOf(document, schema, one.$ref) } : one,
    );
  return Object.fromEntries(Object.entries(document.schemas).map(([title, schema]) => [title, plain(schema)]));
}
function readSchemas(schemas: Record<string, SchemaObject>): Loose {
  const plain = (schema: SchemaObject) =>
    mapSchema(schema, (one) =>
      typeof one.$ref === "string" ? { ...one, $ref: one.$ref.replace("#/components/schemas/", "") } : one,
    );
  return Object.fromEntries(Object.entries(schemas).map(([title, schema]) => [title, plain(schema)]));
}

const info = ({ title, version = "1.0", description }: Loose) => ({ title, version, description });
const code = (text: string) => `\`${text}\``;
const valuesOf = (examples: Loose = {}) => Object.values<Loose>(examples).map(({ value }) => value);
/** Without what is undefined, as JSON has it. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

/** Media types with the schemas and examples that they have. */
const mediaOf = (content: Loose = {}) =>
  Object.entries<Loose>(content).map(([type, { schema, examples, example }]) => {
    const { description, "x-sentinel": sentinel, "x-rejoin": rejoin, "x-messages": messages, ...rest } = schema;
    return {
      type,
      schemas: (rest.oneOf ?? [rest]).map((one: Loose) => one.$ref?.replace("#/components/schemas/", "") ?? one),
      examples: [...valuesOf(examples), ...(example === undefined ? [] : [example])],
      ...(messages && { description: description.split("\n"), sentinel, rejoin, messages }),
    };
  });

/** A media type once, with what all operations of a route have for it. */
function together(all: Loose[]): Loose[] {
  const types = [...new Set(all.map(({ type }) => type))];
  return types.map((type) => {
    const of = all.filter((one) => one.type === type);
    return { ...of[0], schemas: of.flatMap((one) => one.schemas), examples: of.flatMap((one) => one.examples) };
  });
}

function credentials({ auth }: Loose, apiKey: string): Loose {
  if (!auth) return undefined;
  const scheme = auth.bearer ? { type: "http", scheme: "bearer" } : { type: apiKey, in: "header", name: auth.header };
  return { [auth.bearer ? "bearer" : "apiKey"]: { ...scheme, description: auth.description } };
}

/** Everything that a client of a route has to know, as the contract has it. */
function routeOf(document: ContractDocument, names: readonly string[]): Loose {
  const { contract, schemas } = document;
  const source = document.source as Loose;
  const calls = names.map((name) => ({ name, call: contract.operations[name]!, told: source.operations[name] }));
  const when = (call: Loose) =>
    Object.entries(call.when ?? {}).map(([key, value]) => `${code(key)} is ${code(JSON.stringify(value))}`);
  const titled = (type: string, title: string) => ({
    type,
    schemas: [title],
    examples: schemas[title]!.examples ?? [],
  });
  const bytes = (type: string) => ({ type, schemas: [{}], examples: [] });
  const answers = calls.map(({ name, call: { answer }, told }) => {
    const { json, text, binary, stream } = answer;
    if (json) return titled("application/json", json);
    if (text) return { type: text, schemas: [{ type: "string" }], examples: told.answer.examples ?? [] };
    if (binary) return bytes(binary);
    if (!stream) return undefined;
    const ends = [...(stream.end ?? []), ...(stream.sentinel ? [`data: ${stream.sentinel}`] : [])].map(code);
    const events = contract.tag.in === "event" || "event" in contract.tag ? "event " : "";
    const transcript = Object.values(document.transcripts).find((lines) =>
      lines.some((line, at) => "call" in line && line.call === name && writtenAfter(lines, at) !== ""),
    );
    const at = transcript?.findIndex((line) => "call" in line && line.call === name) ?? 0;
    return {
      type: "text/event-stream",
      schemas: [{ type: "string" }],
      examples: transcript ? [writtenAfter(transcript, at)] : [],
      description: [
        "Server-Sent Events. The data of each is one of:",
        "",
        ...stream.messages.map((one) => `- ${events}${code(one)}: ${contract.messages[one]!.schema}`),
        ...(ends.length > 0 ? ["", `It ends with ${ends.join(" or ")}.`] : []),
      ],
      sentinel: stream.sentinel,
      rejoin: stream.rejoin,
      messages: Object.fromEntries(
        stream.messages.map((one) => [one, { $ref: `#/components/schemas/${contract.messages[one]!.schema}` }]),
      ),
    };
  });
  const faults = Object.assign({}, ...calls.map(({ told }) => ({ ...source.faults, ...told.faults })).reverse());
  const statuses = [...new Set(calls.map(({ call }) => call.answer.status))];
  return {
    id: names.join("or").toLowerCase(),
    summary: calls[0]!.told.summary,
    description: calls
      .flatMap(({ name, call, told }) => [
        calls.length > 1 ? `**${name}**, when ${when(call).join(" and ")}: ${told.summary}` : undefined,
        told.description,
        call.alsoAt && `Also read at ${call.alsoAt.map(code).join(", ")}.`,
      ])
      .filter((text) => text !== undefined),
    bodies: together([
      ...calls.flatMap(({ call: { body } }) => (body ? titled("application/json", body) : [])),
      ...calls.flatMap(({ call: { binary } }) => (binary ? bytes(binary) : [])),
    ]),
    parameters: [...new Set(calls.flatMap(({ told }) => Object.keys(told.parameters ?? {})))].map((name) => {
      const all = calls.flatMap(({ told }) => told.parameters?.[name] ?? []);
      const { in: place, required, description, examples = [], ...schema } = all[0];
      const values = all.flatMap((one) => one.enum ?? []);
      const always = all.length === calls.length && all.every((one: Loose) => one.required);
      const schemaOf = { ...schema, ...(values.length > 0 && { enum: [...new Set(values)] }) };
      return { name, in: place, required: place === "path" || always, description, schema: schemaOf, examples };
    }),
    answers: statuses.map((status) => {
      const those = calls
        .map((call, index) => ({ ...call, media: answers[index] }))
        .filter(({ call }) => call.answer.status === status);
      const headers =
        those
          .map(({ told }) => told.answer.headers)
          .filter(Boolean)
          .at(-1) ?? {};
      return {
        status: String(status),
        description: those[0]!.told.answer.description ?? "Success.",
        headers: Object.entries<Loose>(headers).map(([name, { required, description, ...schema }]) => ({
          name,
          required: required === true,
          description,
          schema,
        })),
        content: together(those.flatMap(({ media }) => media ?? [])),
      };
    }),
    empty: calls.flatMap(({ call: { answer } }) => answer.none ?? []),
    faults: Object.entries<Loose>(faults)
      .filter(([status]) => !statuses.includes(Number(status)))
      .map(([status, { description, text, examples }]) => {
        const codes = Object.entries<Loose>(source.fault.codes ?? {}).filter(
          ([, one]) => String(one.status) === status,
        );
        const lines = codes.map(([one, { description }]) => `- ${code(one)}: ${description}`);
        return {
          status,
          description: [description, ...(lines.length > 0 ? ["", ...lines] : [])].join("\n"),
          content: text
            ? [{ type: "text/plain", schemas: [{ type: "string" }], examples: examples ?? [] }]
            : [{ type: "application/json", schemas: [contract.fault.schema], examples: [] }],
        };
      }),
  };
}

/** The frames that a transcript's server writes between a call and the next one, or the end. */
function writtenAfter(lines: readonly Loose[], at: number): string {
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => "call" in line || "end" in line);
  return rest
    .slice(0, end < 0 ? rest.length : end)
    .map((line) => (line.wire === undefined || line.read ? "" : line.wire))
    .join("");
}

const byStatus = (all: Loose[]) => all.sort((a, b) => a.status.localeCompare(b.status));

test.each(cases)("the OpenAPI of %s has each route as the contract does, and nothing else", (_, document) => {
  const { contract, source } = document;
  const api = read(document, "openapi");
  const routes = new Map<string, string[]>();
  for (const [name, { method, path }] of Object.entries(contract.operations))
    routes.set(`${method} ${path}`, [...(routes.get(`${method} ${path}`) ?? []), name]);
  const found = Object.entries<Loose>(api.paths).flatMap(([path, item]) =>
    Object.entries<Loose>(item).map(([method, operation]) => {
      const route = `${method.toUpperCase()} ${path}`;
      const own = (routes.get(route) ?? []).map((name) => String(contract.operations[name]!.answer.status));
      const responses = Object.entries<Loose>(operation.responses);
      expect(Object.keys(operation.requestBody ?? { required: true })).toContain("required");
      if (operation.requestBody) expect(operation.requestBody.required).toBe(true);
      return [
        route,
        {
          id: operation.operationId.toLowerCase(),
          summary: operation.summary,
          description: operation.description?.split("\n\n") ?? [],
          bodies: mediaOf(operation.requestBody?.content),
          parameters: (operation.parameters ?? []).map(({ examples, ...one }: Loose) => ({
            ...one,
            examples: valuesOf(examples),
          })),
          answers: responses
            .filter(([status]) => own.includes(status))
            .map(([status, { description, headers = {}, content }]) => ({
              status,
              description,
              headers: Object.entries<Loose>(headers).map(([name, one]) => ({ name, ...one })),
              content: mediaOf(content),
            })),
          empty: responses
            .filter(([status, { description }]) => !own.includes(status) && description === "There is no body.")
            .map(([status]) => Number(status)),
          faults: byStatus(
            responses
              .filter(([status, { content }]) => !own.includes(status) && content)
              .map(([status, { description, content }]) => ({ status, description, content: mediaOf(content) })),
          ),
        },
      ] as const;
    }),
  );
  expect(found.map(([route]) => route).sort()).toEqual([...routes.keys()].sort());
  for (const [route, one] of found) {
    const expected = routeOf(document, routes.get(route)!);
    expect(plain(one), route).toEqual(plain({ ...expected, faults: byStatus(expected.faults) }));
  }
  expect(api.openapi).toBe("3.1.0");
  expect(api.info).toEqual(plain(info(source)));
  expect(api.servers).toEqual([{ url: contract.url }]);
  const scheme = credentials(source, "apiKey");
  expect(api.components.securitySchemes).toEqual(scheme && plain(scheme));
  const { bearer, apiKey } = contract.auth ?? {};
  const needed = scheme && { [Object.keys(scheme)[0]!]: [] };
  expect(api.security).toEqual(needed && ((bearer ?? apiKey) === "required" ? [needed] : [{}, needed]));
});

test.each(cases)("the schemas of %s are in both documents, and each $ref leads to what it led to", (_, document) => {
  const expected = schemasOf(document);
  expect(readSchemas(read(document, "openapi").components.schemas)).toEqual(expected);
  expect(readSchemas(read(document, "asyncapi").components.schemas)).toEqual(expected);
});

const last = ($ref: string) => $ref.split("/").at(-1)!.replaceAll("~1", "/").replaceAll("~0", "~");
const messagesIn = (channel: string, refs: Loose[] = []) =>
  refs.map(({ $ref }) => {
    expect($ref).toBe(`#/channels/${channel}/messages/${escapeStep(last($ref))}`);
    return last($ref);
  });

test.each(cases)(
  "the AsyncAPI of %s has each stream and channel as the contract does, and nothing else",
  (_, document) => {
    const { contract } = document;
    const source = document.source as Loose;
    const api = read(document, "asyncapi");
    const streams = Object.entries(contract.operations).filter(([, { answer }]) => answer.stream);
    const channels = Object.entries(contract.channels);
    const carriers = channels.flatMap(([, channel]) => carriersOf(channel) as readonly string[]);
    const { host, protocol, pathname } = new URL(contract.url);
    const scheme = credentials(source, "httpApiKey");
    const { bearer, apiKey } = contract.auth ?? {};
    const security = (bearer ?? apiKey) === "required" && {
      security: [{ $ref: `#/components/securitySchemes/${Object.keys(scheme)[0]}` }],
    };
    const place = { host, ...(pathname !== "/" && { pathname }), ...security };
    const secure = protocol === "https:";
    expect(api.asyncapi).toBe("3.0.0");
    expect(api.info).toEqual(plain(info(source)));
    expect(api.defaultContentType).toBe("application/json");
    expect(api.servers).toEqual({
      ...(streams.length > 0 && { http: { ...place, protocol: secure ? "https" : "http" } }),
      ...(carriers.includes("websocket") && { ws: { ...place, protocol: secure ? "wss" : "ws" } }),
      ...(carriers.includes("stdio") && {
        stdio: { host: "localhost", protocol: "stdio", description: expect.any(String) },
      }),
    });
    expect(api.components.securitySchemes).toEqual(scheme && plain(scheme));

    const channelOf = (servers: readonly string[], told: Loose, messages: readonly string[]) => {
      const of = (place: string) => Object.entries<Loose>(told.parameters ?? {}).filter(([, one]) => one.in === place);
      const query = of("query").map(([name, { in: _, required, ...schema }]) => [name, schema]);
      return {
        address: told.path,
        summary: told.summary,
        description: told.description,
        servers: servers.map((server) => ({ $ref: `#/servers/${server}` })),
        parameters: Object.fromEntries(of("path").map(([name, { description = name }]) => [name, { description }])),
        messages: Object.fromEntries(
          messages.map((name) => [name, { $ref: `#/components/messages/${escapeStep(name)}` }]),
        ),
        query:
          servers.includes("ws") && query.length > 0
            ? { type: "object", properties: Object.fromEntries(query) }
            : undefined,
      };
    };
    const found = Object.entries<Loose>(api.channels).map(([name, { bindings, parameters = {}, ...one }]) => [
      name,
      { ...one, parameters, query: bindings?.ws.query },
    ]);
    expect(plain(Object.fromEntries(found))).toEqual(
      plain({
        ...Object.fromEntries(
          streams.map(([name, { body, answer }]) => {
            const messages = [...(body ? [body] : []), ...answer.stream!.messages];
            return [name, channelOf(["http"], source.operations[name], messages)];
          }),
        ),
        ...Object.fromEntries(
          channels.map(([name, { carriers = ["websocket"], client, server }]) => [
            name,
            channelOf(
              carriers.map((carrier) => (carrier === "websocket" ? "ws" : carrier)),
              source.channels[name],
              [...client, ...server],
            ),
          ]),
        ),
      }),
    );

    const operationsOf: Loose = {};
    for (const [name, { method, body, answer }] of streams) {
      const { sentinel, messages, rejoin } = answer.stream!;
      const { none } = answer;
      const notes = [
        sentinel && `The event \`data: ${sentinel}\` ends the stream.`,
        rejoin && `A stream that was cut is joined again by ${rejoin.operation}.`,
        none && `The status ${none} is an answer with no messages.`,
      ].filter(Boolean);
      operationsOf[`${name}Send`] = {
        action: body ? "receive" : "send",
        channel: name,
        summary: source.operations[name].summary,
        description: notes.join(" ") || undefined,
        messages: body ? [body] : messages,
        bindings: { http: { method } },
        replies: body && messages,
      };
    }
    for (const [name, channel] of channels) {
      for (const [side, word, action] of [
        ["server", "Send", "send"],
        ["client", "Receive", "receive"],
      ] as const)
        operationsOf[`${name}${word}`] = {
          action,
          channel: name,
          summary: `What the ${side} says.`,
          messages: channel[side],
        };
    }
    const places = [
      ...streams.map(([name, { answer }]) => ({
        name,
        client: [] as readonly string[],
        server: answer.stream!.messages,
      })),
      ...channels.map(([name, { client, server }]) => ({ name, client, server })),
    ];
    for (const [index, { ask, by, key, when, answers }] of (contract.exchanges ?? []).entries()) {
      for (const { name, client, server } of places) {
        const [own, other] = by === "server" ? [server, client] : [client, server];
        if (!own.includes(ask)) continue;
        const replies = answers.flatMap(({ message }) => (message && other.includes(message) ? [message] : []));
        const operations = answers.flatMap(({ operation }) => (operation ? [code(operation)] : []));
        const id = Object.keys(api.operations).find(
          (id) => id.toLowerCase() === `${name}Ask${ask.replace(/\W|_/g, "")}`.toLowerCase(),
        );
        operationsOf[id ?? `${name}Ask${ask}`] = {
          action: by === "server" ? "send" : "receive",
          channel: name,
          description: [
            ...(source.exchanges[index].description ? [source.exchanges[index].description] : []),
            ...(when ? [`Only when ${JSON.stringify(when)}.`] : []),
            ...(operations.length > 0 ? [`Answered by the HTTP operation ${operations.join(" or ")}.`] : []),
            key ? `The answer repeats ${code(key)}.` : "Answered in order.",
          ].join(" "),
          messages: [ask],
          replies: replies.length > 0 ? replies : undefined,
        };
      }
    }
    const operations = Object.entries<Loose>(api.operations).map(([id, { channel, messages, reply, ...one }]) => {
      const name = last(channel.$ref);
      expect(channel.$ref).toBe(`#/channels/${name}`);
      if (reply) expect(reply.channel).toEqual(channel);
      const own = messagesIn(name, messages);
      return [id, { ...one, channel: name, messages: own, replies: reply && messagesIn(name, reply.messages) }];
    });
    expect(plain(Object.fromEntries(operations))).toEqual(plain(operationsOf));
  },
);

test.each(cases)(
  "the AsyncAPI of %s has each message with its schema, examples, key and part in the conversation",
  (_, document) => {
    const { contract, schemas } = document;
    const { messages } = read(document, "asyncapi").components;
    const exchanges = contract.exchanges ?? [];
    const streams = Object.values(contract.operations).filter(({ answer }) => answer.stream);
    const expected: Loose = {};
    const add = (name: string, title: string, tags: string[], key?: string) => {
      const { description, examples } = schemas[title]!;
      expected[name] = {
        name,
        title,
        summary: description,
        description: name.endsWith("*")
          ? `Each message whose name begins with ${code(name.slice(0, -1))}.`
          : contract.tag.in === "event" && name !== title
            ? `SSE event ${code(name)}; the body does not repeat it.`
            : undefined,
        payload: { $ref: `#/components/schemas/${title}` },
        examples: examples?.map((payload) => ({ payload })),
        tags: tags.length > 0 ? tags.map((name) => ({ name })) : undefined,
        correlationId: key && { location: `$message.payload#/${key}` },
      };
    };
    for (const [name, { schema, fault }] of Object.entries(contract.messages)) {
      const opens = Object.values(contract.channels).some(({ open = {} }) => Object.values(open).includes(name));
      const tags = [
        ...(streams.some(({ answer }) => answer.stream!.end?.includes(name)) ? ["ends the stream"] : []),
        ...(opens ? ["opens the channel"] : []),
        ...(fault ? ["fault"] : []),
        ...(exchanges.some(({ ask }) => ask === name) ? ["ask"] : []),
        ...(exchanges.some(({ answers }) => answers.some(({ message }) => message === name)) ? ["answer"] : []),
      ];
      add(name, schema, tags, exchanges.find(({ ask }) => ask === name)?.key);
    }
    for (const { body } of streams) if (body) add(body, body, []);
    expect(messages).toEqual(plain(expected));
  },
);
