import type { ContractDocument } from "@parlance/wire";
import { branded } from "@parlance/wire/errors";
import { generatedNames, namesType, pascal } from "../schema.js";
import { subschemas } from "../walk.js";

/** The contract is sound but cannot be written as TypeScript: a name is taken twice, or is invalid. */
export class GenerateError extends Error {
  static {
    branded(GenerateError, "GenerateError");
  }

  declare readonly name: "GenerateError";
  readonly code = "contract_not_generated";
  readonly contract: string;
  constructor(contract: string, message: string) {
    super(`${contract}: ${message}`);
    this.contract = contract;
  }
}

/** `fold-gateway` → `foldGateway`; `chat-1.13` → `chat1_13`. */
export function camel(name: string): string {
  return name.replace(/(?<=\d)\.(?=\d)|[-.](.)/g, (_, first?: string) => first?.toUpperCase() ?? "_");
}

/** Words reserved in a module (ECMA-262, section 12.7.2), and names that the generated module imports. */
const reserved = new Set(
  (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for function " +
    "if implements import in instanceof interface let new null package private protected public return static super switch this " +
    "throw true try typeof var void while with yield checks"
  ).split(" "),
);

/** Refuses a contract whose generated file would have duplicate or invalid names. */
export function refuseClashes(document: ContractDocument): void {
  const { contract } = document;
  const refuse = (message: string) => {
    throw new GenerateError(contract.name, message);
  };
  const messages = new Map<string, string>();
  for (const [name, { schema }] of Object.entries(contract.messages)) {
    const other = messages.get(schema);
    if (other !== undefined)
      refuse(
        `the messages ${other} and ${name} have the one schema ${schema}, and each needs a type of its own: write a schema for each`,
      );
    messages.set(schema, name);
  }
  const names = new Map<string, string>();
  for (const [name, what] of declarations(document)) {
    const other = names.get(name);
    if (other !== undefined) refuse(`${what} and ${other} would both be named ${name}; rename one of them`);
    names.set(name, what);
  }
  if (reserved.has(camel(contract.name)))
    refuse("a contract's value has its name, and this is a word of the language; rename it");
}

/** Every name that the generated file declares, and its purpose. */
function* declarations(document: ContractDocument): Generator<[name: string, what: string]> {
  for (const title of Object.keys(document.schemas)) yield [title, `the schema ${document.files[title]}`];
  yield* generatedNames(document);
}

/** Names that a definition does not get from its key: a program that imports a type `Promise` hides its own. */
const globals = new Set(
  (
    "Array AsyncIterable Boolean Date Error Function Map Number Object Omit Promise ReadableStream Record RegExp Set String " +
    "Symbol Uint8Array"
  ).split(" "),
);

/** The types of a generated file. Most names are fixed by the contract; a definition without a title is named by its key. */
export class Names {
  readonly #declared: Set<string>;

  constructor(document: ContractDocument) {
    const inner = Object.values(document.schemas).flatMap((root) =>
      subschemas(root).flatMap(({ schema }) => (namesType(schema) ? [schema.title!] : [])),
    );
    this.#declared = new Set([...[...declarations(document)].map(([name]) => name), ...inner]);
  }

  has(name: string): boolean {
    return this.#declared.has(name);
  }

  /**
   * Names the schema at a path of a file: by the last key if that is a definition's and free, else with the file's title before it. So two
   * files may have a definition of one name, and neither changes the names of the other file.
   */
  take(title: string, path: readonly string[]): string {
    const key = pascal(path.at(-1)!).replace(/\W/g, "");
    const isDefinition = ["$defs", "definitions"].includes(path.at(-2)!);
    let name = isDefinition && /^[A-Z]/i.test(key) && !globals.has(key) ? key : title + key;
    if (this.has(name)) name = title + key;
    for (let count = 2; this.has(name); count++) name = `${title}${key}${count}`;
    this.#declared.add(name);
    return name;
  }
}
