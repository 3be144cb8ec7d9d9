import { escapeStep } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import type { Source } from "../source.js";
import type { Files } from "./files.js";
import { type Spoken, speak } from "./messages.js";
import { alternatives } from "./unions.js";

/** The parts of an OpenAPI document that become contract.json. */
export interface Described {
  readonly url?: string;
  readonly auth?: Source;
  readonly operations: Record<string, Source>;
  readonly spoken: Spoken;
}

const METHODS = ["get", "post", "put", "patch", "delete"];
const SCALARS = ["string", "integer", "number", "boolean"];
/** Headers that a contract has other keywords for. */
const OWN_HEADERS = ["accept", "content-type", "authorization"];
const EVENTS = "text/event-stream";

interface Call {
  readonly name: string;
  readonly pointer: string;
  readonly operation: Source;
  readonly path: string;
  readonly method: string;
}

/** Reads the operations of OpenAPI 3. What an operation cannot have here is left out of it, or it is, with a note. */
export function describe(files: Files, prose: boolean): Described {
  const { document } = files;
  const calls = [...callsOf(files)];
  const streams = new Map(calls.map((call) => [call, streamOf(files, call)]));
  const spoken = speak(
    files,
    [...streams.values()].flatMap((pointer) => (pointer === undefined ? [] : [...alternatives(files, pointer)])),
  );
  const operations: Record<string, Source> = {};
  for (const call of calls) {
    const made = operationOf(files, call, prose);
    const pointer = streams.get(call);
    if (made === undefined) continue;
    const { name } = call;
    if (pointer !== undefined) {
      const said = [...alternatives(files, pointer)].flatMap((one) => spoken.names.get(one) ?? []);
      const { status, none } = made.answer;
      const answer = { status, ...(none !== undefined && { none }), stream: { messages: [...new Set(said)] } };
      const stream = { ...made, answer };
      const both = made.answer.json !== undefined && made.body !== undefined && isSwitched(files, call);
      if (both) operations[name] = { ...made, when: { stream: false } };
      if (said.length > 0)
        operations[both ? `${name}Stream` : name] = both ? { ...stream, when: { stream: true } } : stream;
      else files.note(call.pointer, "answers a stream without a message that has a schema, and is left out");
    } else operations[name] = made;
  }
  for (const kind of ["webhooks", "x-webhooks"])
    if (isObject(document[kind])) files.note(`/${kind}`, "are calls of a server, and are left out");
  return { ...server(files), ...credentials(files), operations, spoken };
}

function* callsOf(files: Files): Generator<Call> {
  const names = new Set<string>();
  for (const [path, item] of Object.entries((files.document.paths ?? {}) as Source))
    for (const method of METHODS) {
      if (!isObject((item as Source)?.[method])) continue;
      const pointer = `/paths/${escapeStep(path)}/${method}`;
      const operation = (item as Source)[method] as Source;
      const name = nameOf(operation.operationId ?? `${method} ${path}`, names);
      yield { name, pointer, operation, path, method: method.toUpperCase() };
    }
}

/** An identifier of a text, which no other operation has. */
function nameOf(text: string, names: Set<string>): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter(Boolean);
  const joined = words
    .map((word, index) => (index === 0 ? word[0]!.toLowerCase() : word[0]!.toUpperCase()) + word.slice(1))
    .join("");
  const base = /^[a-z]/.test(joined) && !(joined in Object.prototype) && joined !== "then" ? joined : `call${joined}`;
  let name = base;
  for (let count = 2; names.has(name); count++) name = `${base}${count}`;
  names.add(name);
  return name;
}

function operationOf(files: Files, call: Call, prose: boolean): Source | undefined {
  const { pointer, operation, method } = call;
  const parameters = parametersOf(files, call, prose);
  const made: Record<string, unknown> = { method, path: call.path, summary: `${method} ${call.path}` };
  if (prose && typeof operation.summary === "string") made.summary = operation.summary;
  if (prose && typeof operation.description === "string") made.description = operation.description;
  if (isObject(operation.requestBody)) {
    const body = bodyOf(files, call);
    if (body === undefined) return undefined;
    Object.assign(made, body);
    if (typeof body.body === "string") made.path = apart(files, call, parameters);
  }
  if (Object.keys(parameters).length > 0) made.parameters = parameters;
  made.answer = answerOf(files, call);
  const faults = faultsOf(files, pointer, operation, prose);
  if (faults !== undefined) made.faults = faults;
  return made;
}

/** Gives a parameter of the path another name where the body has a property of its name; one of the query is left out. */
function apart(files: Files, call: Call, parameters: Record<string, Source>): string {
  let { path } = call;
  const body = files.at(`${call.pointer}/requestBody`);
  const properties = propertiesOf(files, `${body.pointer}/content/${escapeStep("application/json")}/schema`);
  for (const [name, parameter] of Object.entries(parameters).filter(([name]) => properties.has(name))) {
    delete parameters[name];
    if (parameter.in !== "path") {
      files.note(
        call.pointer,
        `has the parameter ${name} beside a property of its body with that name; the parameter is left out`,
      );
      continue;
    }
    parameters[`path_${name}`] = parameter;
    path = path.replace(`{${name}}`, `{path_${name}}`);
  }
  return path;
}

function propertiesOf(files: Files, pointer: string, depth = 0): Set<string> {
  const { value, pointer: at } = files.at(pointer);
  const parts =
    depth > 8 ? [] : ((value.allOf as unknown[] | undefined) ?? []).map((_, index) => `${at}/allOf/${index}`);
  const inner = parts.flatMap((part) => [...propertiesOf(files, part, depth + 1)]);
  return new Set([...Object.keys((value.properties as object | undefined) ?? {}), ...inner]);
}

function parametersOf(files: Files, { pointer, operation, path }: Call, prose: boolean): Record<string, Source> {
  const made: Record<string, Source> = {};
  const above = pointer.slice(0, pointer.lastIndexOf("/"));
  const owners = [above, pointer].flatMap((owner) => {
    const { parameters = [] } = owner === pointer ? operation : files.at(owner).value;
    return (parameters as unknown[]).map((_, index) => `${owner}/parameters/${index}`);
  });
  for (const owner of owners) {
    const { value: parameter, pointer: at } = files.at(owner);
    const { name, in: place } = parameter as { name: string; in: string };
    if (place === "header" && OWN_HEADERS.includes(String(name).toLowerCase())) continue;
    if (!["path", "query", "header", "cookie"].includes(place) || (place === "path" && !path.includes(`{${name}}`))) {
      files.note(at, `is a parameter in ${place}, and is left out`);
      continue;
    }
    const schema = scalar(
      files,
      parameter.schema === undefined ? undefined : `${at}/schema`,
      at,
      `the parameter ${name}`,
    );
    made[name] = {
      in: place,
      ...schema,
      ...(parameter.required === true && place !== "path" && { required: true }),
      ...(prose && typeof parameter.description === "string" && { description: parameter.description }),
    };
  }
  for (const [, name] of path.matchAll(/\{([^{}]*)\}/g)) made[name!] ??= { in: "path", type: "string" };
  return made;
}

/** The schema of a value that travels as text. */
function scalar(files: Files, schema: string | undefined, at: string, what: string): Source {
  const { value } = files.at(schema ?? at);
  const types = [value.type].flat().filter((type) => type !== "null");
  const values = Array.isArray(value.enum) ? value.enum.filter((one) => one !== null) : undefined;
  const type = types.length === 1 ? types[0] : values !== undefined ? typeof values[0] : undefined;
  if (schema === undefined || !SCALARS.includes(type)) {
    files.note(at, `${what} is no single text, number or boolean; it is a text here`);
    return { type: "string" };
  }
  const kept = ["pattern", "format", "default"].flatMap((keyword) =>
    value[keyword] === undefined || value[keyword] === null ? [] : [[keyword, value[keyword]] as const],
  );
  return {
    type,
    ...(values?.every((one) => typeof one === typeof values[0]) && { enum: [...new Set(values)] }),
    ...Object.fromEntries(kept),
  };
}

const isJson = (media: string) => /^(?:application\/(?:[\w.+-]+\+)?json|\*\/\*)\b/i.test(media);

function bodyOf(files: Files, { name, pointer, method }: Call): { body?: string; binary?: string } | undefined {
  const { value, pointer: at } = files.at(`${pointer}/requestBody`);
  const media = Object.keys((value.content as object | undefined) ?? {});
  const json = media.find(isJson);
  const leave = (why: string) => {
    files.note(pointer, `${why}, and the operation is left out`);
    return undefined;
  };
  if (method === "GET") return leave("has a body, which no client sends with a GET");
  if (media.length === 0) return {};
  if (json !== undefined) {
    const place = `${at}/content/${escapeStep(json)}/schema`;
    return { body: files.of(files.at(place).pointer, `${name} body`) };
  }
  const bytes = media.find((one) => !/^(?:text\/|multipart\/|application\/x-www-form-urlencoded)/.test(one));
  return bytes === undefined
    ? leave(`has a body of ${media.join(" or ")}`)
    : { binary: bytes.includes("*") ? "application/octet-stream" : bytes };
}

interface Success {
  readonly status: number;
  /** The pointer to its answer. */
  readonly at: string;
  readonly content: readonly string[];
  /** A further status, which has no body. */
  readonly none?: number | undefined;
}

/** The first status of success with a body, else the first. */
function success(files: Files, { pointer, operation }: Call): Success {
  const responses = Object.keys((operation.responses as object | undefined) ?? {});
  const statuses = responses.filter((status) => /^2/.test(status)).sort();
  const contentOf = (status: string) =>
    Object.keys((files.at(`${pointer}/responses/${status}`).value.content as object | undefined) ?? {});
  const first = statuses.find((status) => contentOf(status).length > 0) ?? statuses[0];
  const status = first ?? responses.find((one) => one === "default");
  if (status === undefined) return { status: 200, at: pointer, content: [] };
  const content = contentOf(status);
  const none = statuses.find(
    (one) => one !== first && content.length > 0 && /^2\d\d$/.test(one) && contentOf(one).length === 0,
  );
  if (statuses.some((one) => one !== first && one !== none))
    files.note(
      `${pointer}/responses`,
      `has the answers ${statuses.join(", ")}; ${[first, none].filter(Boolean).join(" and ")} ${none ? "are" : "is"} kept`,
    );
  return {
    status: Number(/^2\d\d$/.exec(first ?? "")?.[0] ?? 200),
    at: files.at(`${pointer}/responses/${status}`).pointer,
    content,
    none: none === undefined ? undefined : Number(none),
  };
}

function answerOf(files: Files, call: Call): Source {
  const { status, at, content, none } = success(files, call);
  const json = content.find(isJson);
  const headers = headersOf(files, at);
  const common = { status, ...(none !== undefined && { none }), ...(headers && { headers }) };
  if (json !== undefined && status !== 204) {
    const place = `${at}/content/${escapeStep(json)}/schema`;
    return Object.keys(files.at(place).value).length > 0
      ? { ...common, json: files.of(files.at(place).pointer, `${call.name} answer`) }
      : { ...common, json: files.add(`${call.name} answer`, {}) };
  }
  const media = content.find((one) => one !== EVENTS && one !== json);
  if (media === undefined) return common;
  if (media.startsWith("text/")) return { ...common, text: media };
  return { ...common, binary: media.includes("*") ? "application/octet-stream" : media };
}

function headersOf(files: Files, answer: string): Record<string, Source> | undefined {
  const names = Object.keys((files.at(answer).value.headers as object | undefined) ?? {}).filter(
    (name) => name.toLowerCase() !== "content-type",
  );
  if (names.length === 0) return undefined;
  return Object.fromEntries(
    names.map((name) => {
      const { value, pointer } = files.at(`${answer}/headers/${escapeStep(name)}`);
      const { type, enum: values } = scalar(
        files,
        value.schema === undefined ? undefined : `${pointer}/schema`,
        pointer,
        `the header ${name}`,
      );
      return [name, { type, ...(value.required === true && { required: true }), ...(values && { enum: values }) }];
    }),
  );
}

/** The place of the schema of a stream's events. */
function streamOf(files: Files, call: Call): string | undefined {
  const { at, content } = success(files, call);
  if (!content.includes(EVENTS)) return undefined;
  const media = `${at}/content/${escapeStep(EVENTS)}`;
  return files.at(`${media}/itemSchema`).value.$ref || Object.keys(files.at(`${media}/itemSchema`).value).length > 0
    ? `${media}/itemSchema`
    : `${media}/schema`;
}

/** Whether the body has a property by which a client asks for the stream. */
const isSwitched = (files: Files, { pointer }: Call): boolean => {
  const body = files.at(`${pointer}/requestBody`);
  return propertiesOf(files, `${body.pointer}/content/${escapeStep("application/json")}/schema`).has("stream");
};

function faultsOf(files: Files, pointer: string, { responses = {} }: Source, prose: boolean): Source | undefined {
  const faults = Object.keys(responses as object).filter((status) => /^[45]\d\d$/.test(status));
  if (faults.length === 0) return undefined;
  return Object.fromEntries(
    faults.map((status) => {
      const { value } = files.at(`${pointer}/responses/${status}`);
      return [
        status,
        {
          description:
            prose && typeof value.description === "string" && value.description
              ? value.description
              : `Status ${status}.`,
        },
      ];
    }),
  );
}

function server({ document }: Files): { url?: string } {
  const { url } = ((document.servers as Source[] | undefined) ?? [])[0] ?? {};
  return typeof url === "string" && /^https?:\/\/[^{}]+$/.test(url) ? { url: url.replace(/\/$/, "") } : {};
}

function credentials(files: Files): { auth?: Source } {
  const { document } = files;
  const schemes = Object.keys((document.components?.securitySchemes ?? {}) as Source).map(
    (name) => files.at(`/components/securitySchemes/${escapeStep(name)}`).value,
  );
  const needs = (document.security as Source[] | undefined) ?? [];
  const needed = needs.length > 0 && needs.every((one) => Object.keys(one).length > 0) ? "required" : "optional";
  const bearer = schemes.find(
    ({ type, scheme }) =>
      type === "oauth2" || type === "openIdConnect" || (type === "http" && /^bearer$/i.test(scheme)),
  );
  const key = schemes.find(({ type, in: place }) => type === "apiKey" && place === "header");
  if (schemes.length > 1 || (schemes.length === 1 && !bearer && !key))
    files.note(
      "/components/securitySchemes",
      "has ways to authenticate of which a contract has one: a bearer token, or a key in a header",
    );
  if (bearer !== undefined) return { auth: { bearer: needed } };
  return key === undefined ? {} : { auth: { apiKey: needed, header: key.name } };
}
