import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { moduleNames } from "./starter.js";

/** Texts by the path of their file, with `/`. */
export type Texts = Readonly<Record<string, string>>;

/** What `init --example agent` writes: a contract, and a server, a client and tests of it. */
export async function agentExample(name: string): Promise<{ contract: Texts; programs: Texts }> {
  const { value, type } = moduleNames(name);
  const renamed = (text: string) =>
    text.replaceAll("my-agent", name).replaceAll("myAgent", value).replaceAll("MyAgent", type);
  // The same path from the source and from the bundle.
  const read = async (part: string) => {
    const folder = fileURLToPath(new URL(`../templates/agent/${part}/`, import.meta.url));
    const files = (await readdir(folder, { recursive: true })).filter((path) => extname(path) !== "");
    const texts = files.map(async (path) => [
      path.replaceAll("\\", "/"),
      renamed(await readFile(join(folder, path), "utf8")),
    ]);
    return Object.fromEntries(await Promise.all(texts)) as Texts;
  };
  return { contract: await read("schemas/my-agent"), programs: await read("src") };
}

/** The first of the files that exists, below a folder. */
export async function firstThatExists(folder: string, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths)
    if (
      await stat(join(folder, path)).then(
        () => true,
        () => false,
      )
    )
      return path;
  return undefined;
}
