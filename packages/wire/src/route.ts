import type { Contract } from "@parlance/contract";

/** What a method and a path lead to. */
export type Route =
  | { readonly operations: readonly string[]; readonly path: Readonly<Record<string, string>> }
  | { readonly channel: string; readonly path: Readonly<Record<string, string>> }
  /** The path is known, the method is not; these are. */
  | { readonly allow: readonly string[] };

/** Compiles the paths of a contract. The function returned is undefined for a path that the contract does not have. */
export function router(contract: Contract): (method: string, pathname: string) => Route | undefined {
  const entries = [
    ...Object.entries(contract.operations).map(([name, { method, path, alsoAt = [] }]) => ({
      name,
      method: method as string,
      paths: [path, ...alsoAt],
    })),
    ...Object.entries(contract.channels).map(([name, { path, alsoAt = [] }]) => ({
      name,
      method: undefined,
      paths: [path, ...alsoAt],
    })),
  ].flatMap(({ name, method, paths }) => paths.map((path) => ({ name, method, segments: path.split("/") })));
  // A literal segment is preferred to a parameter, whatever the order in the contract (RFC 6570 has no rule of its own).
  entries.sort((a, b) => specificity(b.segments).localeCompare(specificity(a.segments)));

  return (method, pathname) => {
    const segments = pathname.split("/");
    let best: string | undefined;
    let path: Record<string, string> = {};
    const found: typeof entries = [];
    for (const entry of entries) {
      if (best !== undefined && specificity(entry.segments) !== best) continue;
      const values = match(entry.segments, segments);
      if (!values) continue;
      best = specificity(entry.segments);
      path = values;
      found.push(entry);
    }
    if (found.length === 0) return undefined;
    const operations = found.filter((entry) => entry.method === method).map((entry) => entry.name);
    if (operations.length > 0) return { operations, path };
    const channel = found.find((entry) => entry.method === undefined);
    if (channel && method === "GET") return { channel: channel.name, path };
    return { allow: [...new Set(found.map((entry) => entry.method ?? "GET"))] };
  };
}

function specificity(segments: readonly string[]): string {
  return segments.map((segment) => (segment.startsWith("{") ? "0" : "1")).join("");
}

function match(template: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (template.length !== segments.length) return undefined;
  const values: Record<string, string> = {};
  for (const [i, part] of template.entries()) {
    const said = segments[i]!;
    if (!part.startsWith("{")) {
      if (part !== said) return undefined;
      continue;
    }
    if (said === "") return undefined;
    try {
      values[part.slice(1, -1)] = decodeURIComponent(said);
    } catch {
      return undefined;
    }
  }
  return values;
}
