import type { Contract } from "./contract/contract.js";
import { misuse } from "./errors.js";
import { valueAt } from "./internal/pointer.js";
import type { JsonObject } from "./json.js";

/** The flat input of an operation or channel: path, query, headers, cookies and body in one object. */
export type Input = Readonly<Record<string, unknown>>;

/** A request relative to the base URL, with a body that is not yet text. */
export interface Bound {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly body?: JsonObject;
}

/** A URL drops dot segments, however they are written (WHATWG URL, section 4.1): the path would lead elsewhere. */
const NOT_IN_PATH: readonly unknown[] = [undefined, "", ".", ".."];

/** Turns a flat input into a request, without the parameters that `bindHeaders` writes. The compiler and the server check the input. */
export function bind(contract: Contract, name: string, input: Input): Bound {
  const operation = contract.operations[name];
  const { path, parameters = {} } = (operation ?? contract.channels[name])!;
  const all: JsonObject = { ...input, ...operation?.when };
  const target = path.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = valueAt(all, [key]);
    return encodeURIComponent(inUrl(contract, name, key, value, NOT_IN_PATH));
  });
  const query = new URLSearchParams();
  const body: JsonObject = {};
  for (const [key, value] of Object.entries(all)) {
    if (value === undefined) continue;
    // A property of the body may have a name that every object inherits, such as "constructor".
    const parameter = Object.hasOwn(parameters, key) ? parameters[key] : undefined;
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
