/** A message in memory: flat, with the name it has in the contract as `type`. */
export type AnyMessage = { readonly type: string };
