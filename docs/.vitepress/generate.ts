/** Writes the pages that are read from elsewhere: the protocols, and the packages' READMEs. Git ignores them. */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { docs } from "@parlance/language/generate";
import { load } from "@parlance/language/load";

const root = fileURLToPath(new URL("../..", import.meta.url));
const site = join(root, "docs");
for (const folder of ["protocols", "packages", "public/protocols"])
  await rm(join(site, folder), { recursive: true, force: true });

async function write(page: string, text: string): Promise<void> {
  await mkdir(dirname(join(site, page)), { recursive: true });
  await writeFile(join(site, page), text);
}

const folders = async (path: string) =>
  (await readdir(join(root, path), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

await mkdir(join(site, "packages"), { recursive: true });
for (const name of await folders("packages"))
  await copyFile(join(root, "packages", name, "README.md"), join(site, "packages", `${name}.md`));

for (const name of await folders("schemas")) {
  const prose = await readFile(join(root, "schemas", name, "README.md"), "utf8");
  const texts = docs(await load(join(root, "schemas", name)));
  const downloads = Object.keys(texts).filter((file) => file.endsWith(".json"));
  const links = downloads.map((file) => `[${file}](/protocols/${file})`);
  await write(
    `protocols/${name}/index.md`,
    `${prose}\n## Reference\n\n[Every operation and message](/protocols/${name}/reference)\n· ${links.join("\n· ")}\n`,
  );
  await write(`protocols/${name}/reference.md`, texts[`${name}.md`]!.replace(/<!--.*-->\n\n/, ""));
  for (const file of downloads) await write(`public/protocols/${file}`, texts[file]!);
}

const readme = await readFile(join(root, "README.md"), "utf8");
const [, table] = /^## The protocols\n([\s\S]*?)^## /m.exec(readme) ?? [];
await write("protocols/index.md", `# The protocols\n${table}`);
