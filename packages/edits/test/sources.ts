import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Random } from "./random.js";

/** Real source files of packages that the tests install anyway, of 20 lines to 400 kB. */
export function readSources(limit: number): string[] {
  const require = createRequire(import.meta.url);
  const texts: string[] = [];
  const visit = (folder: string) => {
    for (const name of readdirSync(folder).sort()) {
      if (texts.length >= limit || name === "node_modules") continue;
      const path = join(folder, name);
      const entry = statSync(path);
      if (entry.isDirectory()) visit(path);
      else if (/\.(c?js|mjs|ts|md|json|css)$/.test(name) && entry.size < 400_000) {
        const text = readFileSync(path, "utf8");
        if (text.split("\n").length > 20) texts.push(text);
      }
    }
  };
  for (const name of ["diff", "ajv", "fast-check", "ws"]) visit(join(dirname(require.resolve(`${name}/package.json`))));
  return texts;
}

/** Edits as people make them: lines changed, removed, added, moved and copied; sometimes the final newline goes. */
export function editText(random: Random, text: string, edits: number): string {
  const lines = text.split("\n");
  for (let i = 0; i < edits; i++) {
    const at = random.below(lines.length);
    const count = 1 + random.below(4);
    const kind = random.below(5);
    if (kind === 0) lines.splice(at, count);
    else if (kind === 1) lines.splice(at, 0, ...lines.slice(at, at + count));
    else if (kind === 2) lines.splice(random.below(lines.length), 0, ...lines.splice(at, count));
    else if (kind === 3) lines.splice(at, 0, "", `const added${random.below(1000)} = ${i};`);
    else lines[at] = `${lines[at]} // edited ${random.below(1000)}`;
  }
  const edited = lines.join("\n");
  return random.chance(0.1) ? edited.replace(/\n+$/, "") : edited;
}
