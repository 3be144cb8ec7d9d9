import type { Contract } from "./contract/contract.js";

/** The result of routing a method and a path. */
export type Route =
  | { readonly operations: readonly string[]; readonly path: Readonly<Record<string, string>> }
  | { readonly channel: string; readonly path: Readonly<Record<string, string>> }
  /** The path is known but not for this method; these are its methods. */
  | { readonly allow: readonly string[] };

/** A node in the tree of paths: the segments that may follow, and the operations of a path that ends here. */
interface Place {
  readonly literals: Map<string, Place>;
  parameter?: Place;
  end?: End;
}

interface End {
  readonly methods: Map<string, { readonly operations: string[]; readonly parameters: readonly string[] }>;
  channel?: { readonly name: string; readonly parameters: readonly string[] };
  readonly allow: Set<string>;
}

/** Compiles the paths of a contract. The function returned is undefined for a path that the contract does not have. */
export function router(contract: Contract): (method: string, pathname: string) => Route | undefined {
  const root: Place = { literals: new Map() };
  for (const [name, { method, path, alsoAt = [] }] of Object.entries(contract.operations))
    for (const template of [path, ...alsoAt]) {
      const { methods, allow } = enter(root, template);
      const known = methods.get(method);
      if (known) known.operations.push(name);
      else methods.set(method, { operations: [name], parameters: parametersOf(template) });
      allow.add(method);
    }
  for (const [name, { path, alsoAt = [] }] of Object.entries(contract.channels))
    for (const template of [path, ...alsoAt]) {
      const end = enter(root, template);
      end.channel ??= { name, parameters: parametersOf(template) };
      end.allow.add("GET");
    }

  /** The last path that was asked for: an adapter asks whether an app has it, and the app where it leads. */
  let last:
    | { readonly pathname: string; readonly end: End | undefined; readonly values: readonly string[] }
    | undefined;

  return (method, pathname) => {
    if (last?.pathname !== pathname) {
      const values: string[] = [];
      last = { pathname, end: find(root, pathname.split("/"), 0, values), values };
    }
    const { end, values } = last;
    if (!end) return undefined;
    const found = end.methods.get(method);
    if (found) return { operations: found.operations, path: pathOf(found.parameters, values) };
    const { channel } = end;
    if (channel && method === "GET") return { channel: channel.name, path: pathOf(channel.parameters, values) };
    return { allow: [...end.allow] };
  };
}

const isParameter = (segment: string): boolean => segment.startsWith("{");

function pathOf(parameters: readonly string[], values: readonly string[]): Record<string, string> {
  const path: Record<string, string> = {};
  for (let i = 0; i < parameters.length; i++) path[parameters[i]!] = values[i]!;
  return path;
}

/** Names of a path's parameters, in their order. */
function parametersOf(template: string): string[] {
  return template
    .split("/")
    .filter(isParameter)
    .map((segment) => segment.slice(1, -1));
}

/** Returns the node of a template in the tree, and creates it if missing. */
function enter(root: Place, template: string): End {
  let place = root;
  for (const segment of template.split("/")) {
    let next = isParameter(segment) ? place.parameter : place.literals.get(segment);
    if (!next) {
      next = { literals: new Map() };
      if (isParameter(segment)) place.parameter = next;
      else place.literals.set(segment, next);
    }
    place = next;
  }
  place.end ??= { methods: new Map(), allow: new Set() };
  return place.end;
}

/** A literal segment is preferred to a parameter, whatever the order in the contract (RFC 6570 has no rule of its own). */
function find(place: Place, segments: readonly string[], at: number, values: string[]): End | undefined {
  if (at === segments.length) return place.end;
  const segment = segments[at]!;
  const literal = place.literals.get(segment);
  const found = literal && find(literal, segments, at + 1, values);
  if (found || !place.parameter || segment === "") return found;
  const value = decoded(segment);
  if (value === undefined) return undefined;
  const depth = values.push(value);
  const end = find(place.parameter, segments, at + 1, values);
  if (!end) values.length = depth - 1;
  return end;
}

function decoded(segment: string): string | undefined {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
