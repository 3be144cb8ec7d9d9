import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import { contractSchema, lint } from "@parlance/language/lint";
import { openOnDisk } from "@parlance/language/load";
import dialectSchema from "../../../schemas/dialect.schema.json" with { type: "json" };
import { agentExample, firstThatExists } from "./agent-example.js";
import { isDirectory } from "./folders.js";
import { exit, type Io, type Options, UsageError } from "./io.js";
import { type Carrier, carriers, files, json, program } from "./starter.js";

export const help = `parlance init [DIR] [--example NAME] [--extends BASE] [--yes]

Writes a first contract to edit, and shows how a server and a client use it. DIR is its folder (default ./schemas/my-agent),
named like the protocol, in lower case with hyphens. Beside DIR, contract.schema.json lets an editor complete and check
contract.json. In DIR, .gitattributes keeps the line ends. Nothing that exists is overwritten. On a terminal it asks for what
is not given.

  --example NAME   a prompt and its answer over sse (default), websocket or both; or agent, a whole conversation with
                   tools, approvals, edits and a stop button, with its server, client and tests in src/
  --extends BASE   start from another contract, a folder or one in a package, such as
                   @parlance/protocols/schemas/loco; contract.json then holds only what differs
  --yes            ask nothing, take the defaults

Exit codes: 0 written, 2 usage, a folder that is not empty, a file that exists, or one that cannot be written.
`;

export const options = {
  example: { type: "string" },
  extends: { type: "string" },
  yes: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  if (values.extends !== undefined && values.example !== undefined)
    throw new UsageError("--extends and --example exclude each other: an extended contract has its base's carriers");
  if (values.example !== undefined && !isExample(values.example))
    throw new UsageError(`--example ${values.example}: it is ${choices}`);
  const asking = values.yes ? undefined : io.ask?.bind(io);
  const first = values.extends === undefined ? "my-agent" : `my-${basename(values.extends)}`;
  const name = positionals[0] ?? (await answer(asking, "Name of the protocol", first, named, io));
  const directory = resolve(io.cwd, positionals[0] ?? join("schemas", name));
  const wrong = named(basename(directory));
  if (wrong !== undefined) throw new UsageError(wrong);
  const shown = shownIn(io, directory);
  if ((await readdir(directory).catch(() => [])).length > 0)
    throw new UsageError(`${shown} is not empty; nothing was written`);
  if (values.extends !== undefined) return extend(values.extends, directory, io);
  const example = values.example ?? (await answer(asking, `Example: ${choices}`, "sse", offered, io));
  if (example === "agent") return writeAgent(directory, io);
  const carrier = example as Carrier;
  const texts = files(basename(directory), carrier);
  await accept(basename(directory), texts);
  await write(directory, texts, io);
  showNext(directory, io);
  const source = program(basename(directory), carrier);
  io.out(`\nA server and a client of it, such as src/try.ts:\n\n${source.replace(/^(?=.)/gm, "  ")}`);
  return exit.fine;
}

const choices = "sse, websocket, both or agent";
const isExample = (text: string) => [...carriers, "agent"].includes(text);
const offered = (text: string) => (isExample(text) ? undefined : `"${text}" is none of ${choices}`);
export const named = (text: string) =>
  /^[a-z][a-z0-9]*([-.][a-z0-9]+)*$/.test(text)
    ? undefined
    : `"${text}" cannot name a protocol: use lower case, digits and hyphens, such as my-agent`;

/** Asks the user until the answer is valid; returns the default without a terminal. */
async function answer(
  ask: Io["ask"],
  question: string,
  normal: string,
  wrong: (text: string) => string | undefined,
  io: Io,
): Promise<string> {
  for (;;) {
    const text = (await ask?.(`${question} (${normal}): `))?.trim() || normal;
    const message = wrong(text);
    if (message === undefined) return text;
    io.err(`${message}\n`);
  }
}

/** Starts a contract that contains only the differences from its base. */
async function extend(base: string, directory: string, io: Io): Promise<number> {
  const folder = resolve(io.cwd, base);
  const reference = (await isDirectory(folder)) ? relativeTo(directory, folder) : base;
  const found = await openOnDisk(reference, directory);
  if (!found) throw new UsageError(`${base} is neither a contract's folder nor one in an installed package`);
  const { title } = JSON.parse(found.files["contract.json"]!);
  const name = basename(directory);
  const contract = {
    $schema: "../dialect.schema.json",
    name,
    extends: reference,
    title: name,
    description: `What differs from ${title ?? base}.`,
  };
  await write(directory, { "contract.json": json(contract) }, io, { "dialect.schema.json": dialectSchema });
  io.out(`\nIt is its base until contract.json or a file in messages/ says otherwise.\n`);
  showNext(directory, io);
  return exit.fine;
}

/** Refuses a name that makes a contract with a fault, such as a word of the language. */
async function accept(name: string, files: Readonly<Record<string, string>>): Promise<void> {
  const [finding] = await lint({ name, files });
  if (finding) throw new UsageError(finding.message);
}

/** Writes the contract of a whole agent, and its programs into `src`. */
async function writeAgent(directory: string, io: Io): Promise<number> {
  const { contract, programs } = await agentExample(basename(directory));
  await accept(basename(directory), contract);
  const source = join(io.cwd, "src");
  const taken = await firstThatExists(source, Object.keys(programs));
  if (taken !== undefined) throw new UsageError(`src/${taken} exists; nothing was written`);
  await mkdir(source, { recursive: true });
  await write(directory, contract, io);
  for (const [path, text] of Object.entries(programs)) await writeFile(join(source, path), text);
  io.out(`src\n${tree(Object.keys(programs).sort())}`);
  const shown = shownIn(io, directory);
  io.out(`
Then, in a package of the type module (npm init -y; npm pkg set type=module):
  npm install @parlance/client @parlance/server @parlance/edits
  npm install --save-dev @parlance/cli tsx
  npx parlance generate ${shown} --out src/protocols
  node --import tsx --test src/agent.test.ts
  npx tsx src/server.ts
  npx tsx src/client.ts "Say hello" README.md     # in another terminal
`);
  return exit.fine;
}

function relativeTo(directory: string, folder: string): string {
  const path = relative(directory, folder).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
}

/** Writes a contract, and shows its files as a tree. */
async function write(
  directory: string,
  texts: Readonly<Record<string, string>>,
  io: Io,
  schemas: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const paths = await writeContract(directory, texts, schemas);
  io.out(`${shownIn(io, dirname(directory))}\n${tree(paths.sort())}`);
}

/** Writes a contract and, beside it, the schemas that its `$schema` refers to. Returns the files, relative to the folder that the contract is in. */
export async function writeContract(
  directory: string,
  texts: Readonly<Record<string, string>>,
  schemas: Readonly<Record<string, unknown>> = {},
): Promise<string[]> {
  // Without it, Git for Windows writes other line ends into the files, and editors keep them.
  const all: Readonly<Record<string, string>> = { ".gitattributes": "* text=auto eol=lf\n", ...texts };
  for (const [file, text] of Object.entries(all)) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), text);
  }
  const beside: string[] = [];
  for (const [file, schema] of Object.entries({ "contract.schema.json": contractSchema, ...schemas })) {
    const path = join(dirname(directory), file);
    if (await readFile(path).catch(() => undefined)) continue;
    await writeFile(path, json(schema));
    beside.push(file);
  }
  return [...Object.keys(all).map((file) => `${basename(directory)}/${file}`), ...beside];
}

export const showNext = (directory: string, io: Io) => {
  const shown = shownIn(io, directory);
  io.out(`
Edit it, then:
  parlance lint ${shown} --watch
  parlance generate ${shown} --out src/protocols
`);
};

/** Paths as a tree, a line each. */
function tree(paths: readonly string[], indent = ""): string {
  const groups = new Map<string, string[]>();
  for (const path of paths) {
    const [head, ...rest] = path.split("/");
    groups.set(head!, [...(groups.get(head!) ?? []), ...(rest.length > 0 ? [rest.join("/")] : [])]);
  }
  return [...groups]
    .map(([name, inside], index) => {
      const last = index === groups.size - 1;
      return `${indent}${last ? "└── " : "├── "}${name}\n${tree(inside, `${indent}${last ? "    " : "│   "}`)}`;
    })
    .join("");
}

export const shownIn = (io: Io, path: string) => relative(io.cwd, path) || ".";
