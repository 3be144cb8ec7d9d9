import type { Accepts, Contract, Json, Side } from "@parlance/contract";
import { misuse, Violation } from "./errors.js";
import { coerce, unbindHeaders } from "./header.js";
import { isObject, type JsonObject } from "./json.js";
import { type AnyContract, assertChecked } from "./message.js";

/** The flat input of an operation or channel: path, query, headers, cookies and body in one object. */
export type Input = Readonly<Record<string, unknown>>;

/** A request before it is sent: relative to the base URL, the body not yet text. */
export interface Bound {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly body?: JsonObject;
}

/** What a server has read of a request when it asks which operation it is. */
export interface Arrived {
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers?: Pick<Headers, "get">;
  readonly body?: unknown;
}

/** A URL drops dot segments, however they are written (WHATWG URL, section 4.1): the path would lead elsewhere. */
const NOT_IN_PATH: readonly unknown[] = [undefined, "", ".", ".."];

/** An operation or channel and its flat input, to a request without the parameters that `bindHeaders` writes. The input is not checked here: the compiler and the server do. */
export function bind(contract: Contract, name: string, input: Input): Bound {
  const operation = contract.operations[name];
  const { path, parameters = {} } = (operation ?? contract.channels[name])!;
  const all: JsonObject = { ...input, ...operation?.when };
  const target = path.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = all[key];
    return encodeURIComponent(inUrl(contract, name, key, value, NOT_IN_PATH));
  });
  const query = new URLSearchParams();
  const body: JsonObject = {};
  for (const [key, value] of Object.entries(all)) {
    if (value === undefined) continue;
    const parameter = parameters[key];
    if (!parameter) body[key] = value;
    else if (parameter.in === "query") query.append(key, inUrl(contract, name, key, value));
  }
  const search = query.size > 0 ? `?${query}` : "";
  return {
    method: operation?.method ?? "GET",
    target: target + search,
    ...(operation?.body !== undefined && { body }),
  };
}

/** A value as text that a URL can hold. UTF-8 has no lone surrogates: a query would have another character in their place. */
function inUrl(
  { name }: Contract,
  operation: string,
  key: string,
  value: unknown,
  forbidden: readonly unknown[] = [],
): string {
  const text = String(value);
  if (forbidden.includes(value) || /\p{Surrogate}/u.test(text))
    throw misuse(`${name}.${operation}: ${key} is part of the URL and may not be ${JSON.stringify(value)}`);
  return text;
}

/** The inverse of `bind`, once. A server compiles it: see `unbinder`. */
export function unbind(contract: AnyContract, accepts: Accepts, names: readonly string[], arrived: Arrived) {
  return unbinder(contract, accepts)(names, arrived);
}

/** The operation or channel that a request means, and its flat input. */
export type Unbind = (names: readonly string[], arrived: Arrived) => { readonly name: string; readonly input: Input };

/**
 * Compiles the inverse of `bind`, for the operations (or the one channel) that the route found. What it returns throws `Violation` where the
 * body breaks its schema, or names a field that the path or the query has already named.
 */
export function unbinder(contract: AnyContract, accepts: Accepts): Unbind {
  const inputs = new Map<string, (arrived: Arrived) => Input>();
  return (names, arrived) => {
    const name = choose(contract, names, arrived);
    let read = inputs.get(name);
    if (!read) {
      read = inputOf(contract, accepts, name);
      inputs.set(name, read);
    }
    return { name, input: read(arrived) };
  };
}

function inputOf(contract: AnyContract, { checks, reads }: Accepts, name: string): (arrived: Arrived) => Input {
  const side: Side = "client";
  const origin = { protocol: contract.name, side, subject: name };
  const read = reads.operations?.[name];
  const operation = contract.operations[name];
  const parameters = (operation ?? contract.channels[name])!.parameters ?? {};
  const each = Object.entries(parameters);
  const isCarried = each.some(([, { in: place }]) => place === "header" || place === "cookie");
  const constants = Object.keys(operation?.when ?? {});
  // An operation that takes nothing has no schema to break.
  const check = checks[inputName(name)];
  return ({ path, query, headers, body }) => {
    const input: JsonObject = {};
    if (operation?.body !== undefined) {
      if (!isObject(body))
        throw new Violation("the request's body is a JSON object", { code: "not_an_object", ...origin });
      Object.assign(input, read ? read(body) : body);
    }
    const carried = isCarried && headers ? unbindHeaders(parameters, headers) : undefined;
    for (const [key, parameter] of each) {
      if (Object.hasOwn(input, key))
        throw new Violation(`${key} belongs in the ${parameter.in}, not in the body`, {
          code: "schema",
          flaws: [{ at: `/${key}`, keyword: "additionalProperties", params: { additionalProperty: key } }],
          ...origin,
        });
      const { in: place } = parameter;
      const said = place === "path" ? path[key] : place === "query" ? query.get(key) : carried?.[key];
      if (said !== undefined && said !== null) input[key] = coerce(said, parameter);
    }
    for (const key of constants) delete input[key];
    if (check) assertChecked(check, input, origin, "the input of");
    return input;
  };
}

/** The title of the schema of an operation's or channel's flat input, or of the headers that it answers. */
export function inputName(name: string, part: "Input" | "Headers" = "Input"): string {
  return `${name[0]!.toUpperCase()}${name.slice(1)}${part}`;
}

/** The operation of a route whose constants are sent; the first one where none is. */
function choose(contract: Contract, names: readonly string[], { query, body }: Arrived): string {
  const [only = ""] = names;
  if (names.length === 1 && !contract.operations[only]?.when) return only;
  const said = (name: string): [Json, unknown][] => {
    const { parameters = {}, when = {} } = contract.operations[name] ?? {};
    return Object.entries(when).map(([key, value]) => [
      value,
      parameters[key] ? (query.get(key) ?? undefined) : isObject(body) ? body[key] : undefined,
    ]);
  };
  const exact = names.find((name) => said(name).every(([value, given]) => given === value));
  if (exact !== undefined) return exact;
  const silent = names.find((name) => said(name).every(([, given]) => given === undefined));
  if (silent !== undefined) return silent;
  const choices = names.map((name) => `${name} ${JSON.stringify(contract.operations[name]?.when)}`);
  throw new Violation(`none of ${choices.join(", ")} is meant`, {
    code: "unknown_operation",
    protocol: contract.name,
    side: "client",
  });
}
