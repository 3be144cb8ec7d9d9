import type { ContractDocument, Json, Operation } from "@parlance/wire";
import { pascal } from "../schema.js";
import {
  credentialsOf,
  endsOf,
  examplesOf,
  recorded,
  type Source,
  type SourceHeader,
  type SourceParameter,
  schemasAt,
  sourceOf,
} from "./source.js";

type Content = Record<string, { schema: object; examples?: object; example?: Json }>;
interface Part {
  readonly name: string;
  readonly operation: Operation;
  readonly told: Source["operations"][string];
}

const ref = (title: string) => ({ $ref: `#/components/schemas/${title}` });

/** The HTTP operations of a contract as an OpenAPI 3.1 document. Operations of one route become one operation. */
export function openapi(document: ContractDocument): object {
  const { contract } = document;
  const source = sourceOf(document);
  const routes = new Map<string, Part[]>();
  for (const [name, operation] of Object.entries(contract.operations)) {
    const route = `${operation.method} ${operation.path}`;
    routes.set(route, [...(routes.get(route) ?? []), { name, operation, told: source.operations[name]! }]);
  }
  const paths: Record<string, Record<string, object>> = {};
  for (const parts of routes.values()) {
    const { method, path } = parts[0]!.operation;
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(document, parts) };
  }
  const credentials = credentialsOf(document);
  const scheme = credentials?.header
    ? { type: "apiKey", in: "header", name: credentials.header }
    : { type: "http", scheme: "bearer" };
  return {
    openapi: "3.1.0",
    info: { title: source.title, version: source.version ?? "1.0", description: source.description },
    servers: [{ url: contract.url }],
    ...(credentials && {
      security: [...(credentials.needed ? [] : [{}]), { [credentials.name]: [] }],
    }),
    paths,
    components: {
      schemas: schemasAt(document, (title) => ref(title).$ref),
      ...(credentials && {
        securitySchemes: { [credentials.name]: { ...scheme, description: source.auth?.description } },
      }),
    },
  };
}

function operationOf(document: ContractDocument, parts: readonly Part[]): object {
  const bodies = parts.filter(({ operation }) => operation.body !== undefined);
  const content: Content = {};
  for (const { operation } of bodies) {
    const body = operation.body!;
    merge(content, "application/json", { schema: ref(body), ...examplesOf(document.schemas[body]!.examples) });
  }
  for (const { operation } of parts) if (operation.binary) merge(content, operation.binary, { schema: {} });
  const responses: Record<string, { description: string; headers?: object; content?: Content }> = {};
  for (const part of parts) {
    const status = String(part.operation.answer.status);
    responses[status] ??= { description: part.told.answer.description ?? "Success." };
    if (part.told.answer.headers) responses[status].headers = headersOf(part.told.answer.headers);
    for (const [type, media] of Object.entries(answerOf(document, part))) {
      responses[status].content ??= {};
      merge(responses[status].content, type, media);
    }
    const { none } = part.operation.answer;
    if (none !== undefined) responses[String(none)] ??= { description: "There is no body." };
    Object.assign(responses, { ...faultsOf(document, part), ...responses });
  }
  const { told } = parts[0]!;
  const paragraphs = parts.flatMap((part) => describe(part, parts.length > 1));
  return {
    operationId: parts.map(({ name }, index) => (index === 0 ? name : pascal(name))).join("Or"),
    summary: told.summary,
    ...(paragraphs.length > 0 && { description: paragraphs.join("\n\n") }),
    ...(parts.some((part) => part.told.parameters) && { parameters: parametersOf(parts) }),
    ...(Object.keys(content).length > 0 && { requestBody: { required: true, content } }),
    responses,
  };
}

function describe({ operation, told, name }: Part, many: boolean): string[] {
  const when = Object.entries(operation.when ?? {}).map(([key, value]) => `\`${key}\` is \`${JSON.stringify(value)}\``);
  const also = operation.alsoAt && `Also read at ${operation.alsoAt.map((path) => `\`${path}\``).join(", ")}.`;
  const head = many ? `**${name}**, when ${when.join(" and ")}: ${told.summary}` : undefined;
  return [head, told.description, also].filter((line) => line !== undefined);
}

/** A parameter that distinguishes operations allows the values of all of them. */
function parametersOf(parts: readonly Part[]): object[] {
  const byName = new Map<string, SourceParameter[]>();
  for (const { told } of parts)
    for (const [name, one] of Object.entries(told.parameters ?? {}))
      byName.set(name, [...(byName.get(name) ?? []), one]);
  return [...byName].map(([name, all]) => {
    const [{ in: place, required, description, examples, ...schema }] = all as [SourceParameter];
    const values = all.flatMap((one) => (one.enum as Json[] | undefined) ?? []);
    const always = place === "path" || (all.length === parts.length && all.every((one) => one.required));
    return {
      name,
      in: place,
      required: always,
      description,
      schema: { ...schema, ...(values.length > 0 && { enum: [...new Set(values)] }) },
      ...examplesOf(examples),
    };
  });
}

function headersOf(headers: Readonly<Record<string, SourceHeader>>): object {
  const entries = Object.entries(headers).map(([name, { required = false, description, ...schema }]) => [
    name,
    { required, ...(description !== undefined && { description }), schema },
  ]);
  return Object.fromEntries(entries);
}

function answerOf(document: ContractDocument, { name, operation, told }: Part): Content {
  const { json, text, binary, stream } = operation.answer;
  if (json !== undefined)
    return { "application/json": { schema: ref(json), ...examplesOf(document.schemas[json]!.examples) } };
  if (text !== undefined) return { [text]: { schema: { type: "string" }, ...examplesOf(told.answer.examples) } };
  if (binary !== undefined) return { [binary]: { schema: {} } };
  if (stream === undefined) return {};
  const { tag, messages } = document.contract;
  const lines = stream.messages.map(
    (message) =>
      `- ${tag.in === "event" || "event" in tag ? `event \`${message}\`` : `\`${message}\``}: ${messages[message]!.schema}`,
  );
  const example = recorded(document, name);
  const ends = endsOf(stream);
  return {
    [stream.lines ?? "text/event-stream"]: {
      schema: {
        type: "string",
        description: [
          stream.lines ? "Lines of JSON. Each is one of:" : "Server-Sent Events. The data of each is one of:",
          "",
          ...lines,
          ...(ends ? ["", `It ends with ${ends}.`] : []),
        ].join("\n"),
        // OpenAPI 3.1 cannot describe the items of a stream.
        ...(stream.sentinel !== undefined && { "x-sentinel": stream.sentinel }),
        ...(stream.rejoin !== undefined && { "x-rejoin": stream.rejoin }),
        "x-messages": Object.fromEntries(stream.messages.map((message) => [message, ref(messages[message]!.schema)])),
      },
      ...(example !== undefined && { example }),
    },
  };
}

function faultsOf(
  document: ContractDocument,
  { told }: Part,
): Record<string, { description: string; content: Content }> {
  const { fault, faults: common } = sourceOf(document);
  const { codes = {} } = fault;
  const title = document.contract.fault.schema;
  const faults = Object.entries({ ...common, ...told.faults }).map(([status, { description, text, examples }]) => {
    const lines = Object.entries(codes)
      .filter(([, code]) => String(code.status) === status)
      .map(([code, { description: meaning }]) => `- \`${code}\`: ${meaning}`);
    const content: Content = text
      ? { "text/plain": { schema: { type: "string" }, ...examplesOf(examples) } }
      : { "application/json": { schema: ref(title) } };
    return [status, { description: [description, ...(lines.length > 0 ? ["", ...lines] : [])].join("\n"), content }];
  });
  return Object.fromEntries(faults);
}

function merge(content: Content, type: string, media: Content[string]): void {
  const there = content[type];
  if (there === undefined) {
    content[type] = media;
    return;
  }
  const { oneOf = [there.schema] } = there.schema as { oneOf?: object[] };
  const examples = [there, media].flatMap(({ examples = {} }) => Object.values(examples) as { value: Json }[]);
  content[type] = { schema: { oneOf: [...oneOf, media.schema] }, ...examplesOf(examples.map(({ value }) => value)) };
}
