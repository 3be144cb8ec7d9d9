import { parseArgs } from "node:util";
import { visibleLines } from "@parlance/wire/internal/escape";
import packageJson from "../package.json" with { type: "json" };
import { type Commands, exit, expected, type Io, type Options, sentenceOf, UsageError } from "./io.js";

const commands: Commands = {
  init: { summary: "write a first contract to edit", load: () => import("./init.js") },
  import: {
    summary: "make a contract from OpenAPI 3 or JSON Schema",
    load: () => import("./import.js"),
  },
  lint: { summary: "list every problem of contracts", load: () => import("./lint.js") },
  generate: { summary: "write TypeScript and validators from contracts", load: () => import("./generate.js") },
  compat: {
    summary: "say what changed between two versions, and for whom it breaks",
    load: () => import("./compat.js"),
  },
  docs: { summary: "write OpenAPI, AsyncAPI and Markdown from contracts", load: () => import("./docs.js") },
  apply: {
    summary: "apply edits, in any form that models write, to files",
    exact: true,
    load: () => import("./apply.js"),
  },
  record: { summary: "record what passes between a client and a server", load: () => import("./record.js") },
  verify: { summary: "hold a recording against its contract", load: () => import("./verify.js") },
  replay: { summary: "take one side of a recorded conversation", load: () => import("./replay.js") },
  mock: { summary: "serve a contract's examples or a recording, with faults", load: () => import("./mock.js") },
  conform: {
    summary: "put a server or a client to a contract's conformance suite",
    load: () => import("./conform.js"),
  },
  export: { summary: "write a recording as HAR or Markdown", load: () => import("./export.js") },
  inspect: { summary: "look at live conversations on a page, and send", load: () => import("./inspect.js") },
  stdio: {
    summary: "forward standard input and output to a channel of a server",
    load: () => import("./stdio.js"),
  },
  completion: {
    summary: "print a script that completes this command in a shell",
    load: () => import("./completion.js"),
  },
};

const help = `parlance <command>: contracts for the conversation between an editor and a coding agent

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`)
  .join("\n")}

parlance <command> --help tells the rest; parlance --version, which this is.
Exit codes: 0 fine, 1 findings, 2 usage, or a file that cannot be read or written.
`;

/** Runs one command and returns its exit code. Throws only on a defect of this program. */
export async function run(argv: readonly string[], given: Io): Promise<number> {
  const [name, ...rest] = argv;
  const entry = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  const io = shownBy(given, entry?.exact === true);
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    (name === undefined ? io.err : io.out)(help);
    return name === undefined ? exit.usage : exit.fine;
  }
  if (name === "--version" || name === "-v" || name === "version") {
    io.out(`${packageJson.version}\n`);
    return exit.fine;
  }
  if (!entry) {
    io.err(`parlance: there is no command ${name}; there are ${Object.keys(commands).join(", ")}\n`);
    return exit.usage;
  }
  const { help: own, options, command } = await entry.load();
  if (rest.includes("--help") || rest.includes("-h")) {
    io.out(own);
    return exit.fine;
  }
  try {
    meetOnce(rest, options);
    return await command(rest, io, commands);
  } catch (error) {
    if (!expected(error)) throw error;
    io.err(`parlance ${name}: ${sentenceOf(error, io.cwd)}\n`);
    return exit.usage;
  }
}

/**
 * The same input and output, with every output made visible: text of a peer or a file cannot control the terminal. A command that prints for
 * another program has its standard output as it is.
 */
function shownBy(io: Io, exact: boolean): Io {
  return {
    ...io,
    out: exact ? io.out : (text) => io.out(visibleLines(text)),
    err: (text) => io.err(visibleLines(text)),
  };
}

/** Refuses an option that is given twice and has one value: the first would be ignored. */
function meetOnce(args: readonly string[], options: Options): void {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option" || options[token.name]?.multiple) continue;
    if (given.has(token.name)) throw new UsageError(`--${token.name} is given twice, and has one value`);
    if (options[token.name]?.type === "string") given.add(token.name);
  }
}
