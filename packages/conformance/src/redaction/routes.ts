import type { Contract } from "@parlance/wire";
import { escapeRegExp } from "@parlance/wire/internal/escape";

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
