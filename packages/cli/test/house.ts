import { existsSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What each package may import of ours: the diagram, downwards. */
export const below: Readonly<Record<string, readonly string[]>> = {
  language: ["wire"],
  wire: [],
  client: ["wire"],
  server: ["wire"],
  "store-redis": ["server", "wire"],
  react: ["wire"],
  protocols: ["edits", "wire"],
  edits: [],
  recordings: ["client", "wire", "server"],
  conformance: ["client", "wire", "recordings"],
  inspect: ["client", "wire", "recordings", "edits"],
  cli: ["client", "wire", "language", "conformance", "recordings", "edits", "inspect"],
};

/** The TypeScript files of a folder, by their paths from the root. */
export function filesIn(folder: string): string[] {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((file) => !file.includes("node_modules/"))
    .sort();
}

/** The files of a package that are built. */
export const sources = (name: string) => [...filesIn(`packages/${name}/src`), ...filesIn(`packages/${name}/helpers`)];
