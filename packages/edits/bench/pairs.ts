import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";

/** One file in two published versions of a package. */
export interface SourcePair {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

const PACKAGES: readonly (readonly [before: string, after: string])[] = [
  ["ajv-old", "ajv"],
  ["commander-old", "commander-new"],
  ["type-fest-old", "type-fest-new"],
  ["undici-old", "undici-new"],
  ["ws-old", "ws"],
];

/** Every text file that both versions have and that differs, and whose change is one that a model could have written. */
export function readPairs(): SourcePair[] {
  const require = createRequire(import.meta.url);
  const folderOf = (name: string) =>
    require.resolve
      .paths(name)!
      .map((folder) => join(folder, name))
      .find(hasManifest)!;
  return PACKAGES.flatMap(([before, after]) => pairFolders(before, folderOf(before), folderOf(after)));
}

function pairFolders(name: string, before: string, after: string): SourcePair[] {
  return listFiles(before).flatMap((path) => {
    const [old, now] = [readFileSync(path, "utf8"), readText(join(after, relative(before, path)))];
    if (now === null || now === old || old.length > 200_000) return [];
    return [{ name: `${name}/${relative(before, path)}`, before: old, after: now }];
  });
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== "node_modules")
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return listFiles(path);
      return /\.(c?js|mjs|ts|md|json)$/.test(entry.name) ? [path] : [];
    });
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function hasManifest(folder: string): boolean {
  return readText(join(folder, "package.json")) !== null;
}
