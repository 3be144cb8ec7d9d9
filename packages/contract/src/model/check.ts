import type { Contract } from "./contract.js";
import type { Json } from "./json.js";
import type { SchemaName } from "./schema.js";

/** Whether a wire body has the form its schema asks for. Generated; the ABI of ajv's standalone functions. */
export interface Check {
  (data: unknown): boolean;
  errors?: readonly CheckError[] | null;
}

export type Checks = Readonly<Record<SchemaName, Check>>;

export interface CheckError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * A generated contract: the data, a check for every schema that goes over the wire, and, for the compiler only, the two
 * interfaces of its operations.
 */
export interface ContractValue<Client, Handlers> extends Contract {
  /** Of what the server writes, by schema title: all that a client needs. */
  readonly checks: Checks;
  /** Of what the client writes, `<Operation>Input` for the flat input of an operation or channel. Only a server loads them. */
  readonly accepts: () => Promise<{
    readonly checks: Checks;
    /** What a server may answer. Only tests load them; code that was generated before has none. */
    readonly examples?: () => Promise<{ readonly examples: Examples }>;
  }>;
  readonly types?: { readonly client: Client; readonly handlers: Handlers };
}

/** One example of each form that the server writes, as it is on the wire. */
export interface Examples {
  /** By schema title. */
  readonly schemas: Readonly<Record<SchemaName, Json>>;
  /** Of answers that are text, by operation. */
  readonly texts: Readonly<Record<string, string>>;
}
