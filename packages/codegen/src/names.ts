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

/** `fold-gateway` → `foldGateway`. */
export function camel(name: string): string {
  return name.replace(/-(.)/g, (_, first: string) => first.toUpperCase());
}

/** What the generated file declares beside its messages: name → what it is. Refuses a name that two things want. */
export function declaredNames(document: ContractDocument): ReadonlyMap<string, string> {
  const { contract } = document;
  const names = new Map<string, string>();
  const declare = (name: string, what: string) => {
    const other = names.get(name);
    if (other !== undefined)
      throw new GenerateError(contract.name, `${what} and ${other} would both be named ${name}; rename one of them`);
    if (/\d$/.test(name))
      throw new GenerateError(
        contract.name,
        `${what} would be named ${name}; a name that ends in a digit hides that two types were merged: give it a title of its own`,
      );
    names.set(name, what);
  };
  const owners = new Map<string, string>();
  for (const [message, { schema }] of Object.entries(contract.messages)) {
    const other = owners.get(schema);
    if (other !== undefined)
      throw new GenerateError(
        contract.name,
        `the messages ${other} and ${message} have the one schema ${schema}, and each needs a type of its own: write a schema for each`,
      );
    owners.set(schema, message);
  }
  for (const title of Object.keys(document.schemas)) declare(title, `the schema ${document.files[title]}`);
  for (const [name, operation] of Object.entries(contract.operations)) {
    declare(`${pascal(name)}Input`, `the input of operation ${name}`);
    if (operation.answer.stream === undefined) continue;
    declare(`${pascal(name)}Message`, `the messages of stream ${name}`);
    declare(`${pascal(name)}Asks`, `the asks of stream ${name}`);
  }
  for (const name of Object.keys(contract.channels)) {
    declare(`${pascal(name)}Input`, `the input of channel ${name}`);
    for (const side of ["Client", "Server"]) {
      declare(`${pascal(name)}${side}Message`, `the ${side.toLowerCase()}'s messages of channel ${name}`);
      declare(`${pascal(name)}${side}Asks`, `the ${side.toLowerCase()}'s asks of channel ${name}`);
    }
  }
  if (contract.session !== undefined) declare(`${pascal(contract.name)}Session`, "a session as a handler holds it");
  declare(pascal(contract.name), "the client's interface");
  declare(`${pascal(contract.name)}Handlers`, "the handlers' interface");
  return names;
}
