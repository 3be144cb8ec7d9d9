import { type Contract, misuse } from "@parlance/wire";
import { escapeRegExp } from "@parlance/wire/internal/escape";

/** Whether a recorded target is a path with its query: one `/` first. Anything else could name another host. */
export function isPath(target: string): boolean {
  return /^\/(?![/\\])[^\s\p{Cc}#]*$/u.test(target);
}

/** The parts of a target; undefined if it is no path. */
export function partsOf(target: string): URL | undefined {
  if (!isPath(target)) return undefined;
  try {
    return new URL(`http://recording${target}`);
  } catch {
    return undefined;
  }
}

/** The URL of a path on a server. Throws `TypeError` for a target that is no path, so a recording cannot choose the host. */
export function urlAt(server: string, target: string): URL {
  const base = new URL(server);
  if (!isPath(target)) throw misuse(notPath(target));
  const url = new URL(base.origin + base.pathname.replace(/\/+$/, "") + target);
  if (url.origin !== base.origin) throw misuse(notPath(target));
  return url;
}

/** The sentence about a target that is no path. */
export function notPath(target: string): string {
  return `the target ${JSON.stringify(target.slice(0, 100))} is not a path that begins with one /`;
}

/** The paths of a contract with a secret parameter in them, as expressions whose groups are the secrets. */
export function secretPaths({ secrets = [], operations = {}, channels = {} }: Partial<Contract>): readonly RegExp[] {
  const paths = [...Object.values(operations), ...Object.values(channels)].map(({ path }) => path);
  return [...new Set(paths)].flatMap((path) => {
    const parts = path.split(/\{([^{}]+)\}/);
    if (!parts.some((part, at) => at % 2 === 1 && secrets.includes(part))) return [];
    const written = parts.map((part, at) =>
      at % 2 === 0 ? escapeRegExp(part) : secrets.includes(part) ? "([^/]+)" : "[^/]+",
    );
    // A proxy may stand under a path of its own.
    return [new RegExp(`${written.join("")}/?$`, "d")];
  });
}

/** A path without the secrets in it. */
export function cleanPath(path: string, routes: readonly RegExp[], replace: (secret: string) => string): string {
  let clean = path;
  for (const route of routes) {
    const found = route.exec(clean);
    for (const place of found?.indices?.slice(1).reverse() ?? [])
      if (place) clean = clean.slice(0, place[0]) + replace(clean.slice(...place)) + clean.slice(place[1]);
  }
  return clean;
}
