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

/** Returns a parsed body in its documented form. The body may be changed in place. */
export type Reader = (body: unknown) => unknown;

/** How what one side writes is read before it is checked. Generated from the reading rules and the tag; absent is what no rule is for. */
export interface Reads {
  readonly message?: Reader;
  /** By operation: its JSON answer where the server writes, its request's body where the client does. */
  readonly operations?: Readonly<Record<string, Reader>>;
  /** With a shape tag: the name of the first message, in contract order, whose shape fits. */
  readonly name?: (body: Readonly<Record<string, unknown>>) => string | undefined;
}

/** What one side writes: how it is checked, and how it is read. */
export interface Accepts {
  readonly checks: Checks;
  readonly reads: Reads;
}

/**
 * A generated contract: the data, checks and readers of all that goes over the wire, and, for the compiler only, the two
 * interfaces of its operations. Its reading rules are in the readers.
 */
export interface ContractValue<Client, Handlers> extends Omit<Contract, "reading">, Accepts {
  /** Of what the server writes, by schema title: all that a client needs. */
  readonly checks: Checks;
  /** Of what the client writes, `<Operation>Input` for the flat input of an operation or channel. Only a server loads them. */
  readonly accepts: () => Promise<
    Accepts & {
      /** What a server may answer. Only tests load them; code that was generated before has none. */
      readonly examples?: () => Promise<{ readonly examples: Examples }>;
    }
  >;
  readonly types?: { readonly client: Client; readonly handlers: Handlers };
}

/** One example of each form that the server writes, as it is on the wire. */
export interface Examples {
  /** By schema title. */
  readonly schemas: Readonly<Record<SchemaName, Json>>;
  /** Of answers that are text, by operation. */
  readonly texts: Readonly<Record<string, string>>;
}
