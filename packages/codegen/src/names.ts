import type { ContractDocument } from "@parlance/contract";
import { pascal } from "@parlance/contract/schema";

/** The contract is sound by itself but cannot be written as TypeScript: two things want one name, or a name is not one. */
export class GenerateError extends Error {
  override readonly name = "GenerateError";
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

/** What a constant of a module cannot be named (ECMA-262, section 12.7.2), and what the generated module imports. */
const reserved = new Set(
  (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for function " +
    "if implements import in instanceof interface let new null package private protected public return static super switch this " +
    "throw true try typeof var void while with yield checks"
  ).split(" "),
);

/** Refuses a contract in which two things want one name in the generated file, or one has a name that cannot be. */
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
  for (const title of Object.keys(document.schemas))
    if (/\d$/.test(title))
      refuse(`the title ${title} ends in a digit, which is how a second type of one name is told; give it another`);
  if (reserved.has(camel(contract.name)))
    refuse("a contract's value has its name, and this is a word of the language; rename it");
}

/** Every name that the generated file declares, and what it is for. */
export function* declarations({ contract, schemas, files }: ContractDocument): Generator<[name: string, what: string]> {
  for (const title of Object.keys(schemas)) yield [title, `the schema ${files[title]}`];
  for (const [name, { answer }] of Object.entries(contract.operations)) {
    yield [`${pascal(name)}Input`, `the input of operation ${name}`];
    if (answer.stream === undefined) continue;
    yield [`${pascal(name)}Message`, `the messages of stream ${name}`];
    yield [`${pascal(name)}Asks`, `the asks of stream ${name}`];
  }
  for (const name of Object.keys(contract.channels)) {
    yield [`${pascal(name)}Input`, `the input of channel ${name}`];
    for (const side of ["client", "server"]) {
      yield [`${pascal(name)}${pascal(side)}Message`, `the ${side}'s messages of channel ${name}`];
      yield [`${pascal(name)}${pascal(side)}Asks`, `the ${side}'s asks of channel ${name}`];
    }
  }
  if (contract.session !== undefined) yield [`${pascal(contract.name)}Session`, "a session as a handler holds it"];
  yield [pascal(contract.name), "the client's interface"];
  yield [`${pascal(contract.name)}Handlers`, "the handlers' interface"];
}
