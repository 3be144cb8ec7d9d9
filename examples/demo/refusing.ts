import { Refusal } from "@parlance/server";

/** Handlers that refuse with 404, for the operations that an example does not offer. */
export function refusing<Handlers>(contract: { readonly operations: object }): Handlers {
  const refuse = (name: string) => () => {
    throw new Refusal(`this example does not offer ${name}`, { status: 404 });
  };
  return Object.fromEntries(Object.keys(contract.operations).map((name) => [name, refuse(name)])) as Handlers;
}
