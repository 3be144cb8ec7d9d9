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
  /** Those with the most text beside their parameter first. */
  readonly parameters: Pattern[];
  end?: End;
}

/** A segment with a parameter, and the text before and after it: `{id}` has none, `{id}:cancel` has some. */
interface Pattern {
  readonly before: string;
  readonly after: string;
  readonly place: Place;
}

interface End {
  readonly methods: Map<string, { readonly operations: string[]; readonly parameters: readonly string[] }>;
  channel?: { readonly name: string; readonly parameters: readonly string[] };
  readonly allow: Set<string>;
}

/** Compiles the paths of a contract. The function returned is undefined for a path that the contract does not have. */
export function router(contract: Contract): (method: string, pathname: string) => Route | undefined {
  const root = newPlace();
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

const PARAMETER = /^([^{}]*)\{([^{}]+)\}([^{}]*)$/;

const newPlace = (): Place => ({ literals: new Map(), parameters: [] });

function pathOf(parameters: readonly string[], values: readonly string[]): Record<string, string> {
  const path: Record<string, string> = {};
  for (let i = 0; i < parameters.length; i++) path[parameters[i]!] = values[i]!;
  return path;
}

/** Names of a path's parameters, in their order. */
function parametersOf(template: string): string[] {
  return template.split("/").flatMap((segment) => PARAMETER.exec(segment)?.[2] ?? []);
}

/** Returns the node of a template in the tree, and creates it if missing. */
function enter(root: Place, template: string): End {
  let place = root;
  for (const segment of template.split("/")) {
    const [, before, , after] = PARAMETER.exec(segment) ?? [];
    place = before === undefined ? literal(place, segment) : pattern(place, before, after!);
  }
  place.end ??= { methods: new Map(), allow: new Set() };
  return place.end;
}

function literal({ literals }: Place, segment: string): Place {
  const place = literals.get(segment) ?? newPlace();
  literals.set(segment, place);
  return place;
}

function pattern({ parameters }: Place, before: string, after: string): Place {
  const known = parameters.find((one) => one.before === before && one.after === after);
  if (known) return known.place;
  const place = newPlace();
  parameters.push({ before, after, place });
  const text = (one: Pattern) => one.before.length + one.after.length;
  parameters.sort((one, other) => text(other) - text(one));
  return place;
}

/**
 * A literal segment is preferred to a parameter, and a parameter with more text beside it to one with less, whatever the order in the contract
 * (RFC 6570 has no rule of its own).
 */
function find(place: Place, segments: readonly string[], at: number, values: string[]): End | undefined {
  if (at === segments.length) return place.end;
  const segment = segments[at]!;
  const literal = place.literals.get(segment);
  const found = literal && find(literal, segments, at + 1, values);
  if (found) return found;
  for (const { before, after, place: next } of place.parameters) {
    const end = segment.length - after.length;
    if (end <= before.length || !segment.startsWith(before) || !segment.endsWith(after)) continue;
    const value = decoded(segment.slice(before.length, end));
    if (value === undefined) continue;
    const depth = values.push(value);
    const deeper = find(next, segments, at + 1, values);
    if (deeper) return deeper;
    values.length = depth - 1;
  }
  return undefined;
}

function decoded(segment: string): string | undefined {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
