import type { Input } from "./bind.js";
import type { Accepts } from "./contract/check.js";
import type { Contract, Side } from "./contract/contract.js";
import { Violation } from "./errors.js";
import { coerce, inputName, unbindHeaders } from "./header.js";
import { valueAt } from "./internal/pointer.js";
import { isObject, type JsonObject } from "./json.js";
import { type AnyContract, assertChecked } from "./message.js";

/** The parts of a request that identify its operation. */
export interface Arrived {
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers?: Pick<Headers, "get">;
  readonly body?: unknown;
}

/** The inverse of `bind`, not compiled; a server uses `unbinder`. A separate module, because no page loads it. */
export function unbind(contract: AnyContract, accepts: Accepts, names: readonly string[], arrived: Arrived) {
  return unbinder(contract, accepts)(names, arrived);
}

/** Finds a request's operation or channel, and its flat input. */
export type Unbind = (names: readonly string[], arrived: Arrived) => { readonly name: string; readonly input: Input };

/**
 * Compiles the inverse of `bind`, for the operations (or the one channel) that the route found. The compiled function throws `Violation` when
 * the body breaks its schema, or repeats a field of the path or the query.
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
  // An operation without input has no schema to check.
  const check = reads.tolerant?.[inputName(name)] ?? checks[inputName(name)];
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
      const said = place === "path" ? path[key] : place === "query" ? query.get(key) : valueAt(carried, [key]);
      if (typeof said === "string") input[key] = coerce(said, parameter);
    }
    for (const key of constants) delete input[key];
    if (check) assertChecked(check, input, origin, "the input of");
    return input;
  };
}

/** The operation of a route whose constants match. A name that is not sent matches an operation that may be called without it. */
function choose(contract: Contract, names: readonly string[], { query, body }: Arrived): string {
  const [only = ""] = names;
  if (names.length === 1 && !contract.operations[only]?.when) return only;
  const isMeant = (name: string) => {
    const { parameters = {}, when = {}, absent } = contract.operations[name] ?? {};
    return Object.entries(when).every(([key, value]) => {
      const text = Object.hasOwn(parameters, key) ? query.get(key) : undefined;
      const given =
        text === undefined ? valueAt(body, [key]) : text === null ? undefined : coerce(text, parameters[key]!);
      return given === undefined ? absent?.includes(key) : given === value;
    });
  };
  const meant = names.find(isMeant);
  if (meant !== undefined) return meant;
  // Its own check refuses the form of the body.
  if (contract.operations[only]?.body !== undefined && !isObject(body)) return only;
  const choices = names.map((name) => `${name} ${JSON.stringify(contract.operations[name]?.when)}`);
  throw new Violation(`none of ${choices.join(", ")} is meant`, {
    code: "unknown_operation",
    protocol: contract.name,
    side: "client",
  });
}
