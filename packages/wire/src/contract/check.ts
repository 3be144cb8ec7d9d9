import type { Contract } from "./contract.js";
import type { Json, SchemaName } from "./schema.js";

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
  /** In a union that is dispatched by a constant: the constant of the branch that was checked. */
  readonly branch?: unknown;
}

/** Returns a parsed body in its documented form. The body may be changed in place. */
export type Reader = (body: unknown) => unknown;

/** Readers that run on one side's wire forms before the check. Generated from the reading rules and the tag; absent without a rule. */
export interface Reads {
  readonly message?: Reader;
  /** By operation: its JSON answer where the server writes, its request's body where the client does. */
  readonly operations?: Readonly<Record<string, Reader>>;
  /** With a shape tag: the name of the first message, in contract order, whose shape fits. */
  readonly name?: (body: Readonly<Record<string, unknown>>) => string | undefined;
  /**
   * By schema title, where the schema has `x-tolerance`: the check to read by. It changes what is tolerated in place. Writers, and tools that hold
   * a peer to the contract, use the others.
   */
  readonly tolerant?: Checks;
}

/** The checks and readers of one side's wire forms. */
export interface Accepts {
  readonly checks: Checks;
  readonly reads: Reads;
}

/**
 * A generated contract: the data, checks and readers of everything on the wire. For the compiler only, it has the two
 * interfaces of its operations. Its reading rules are in the readers.
 */
export interface ContractValue<Client, Handlers> extends Omit<Contract, "reading">, Accepts {
  /** Checks of the server's messages and answers, by schema title. A client needs no others. */
  readonly checks: Checks;
  /** Checks of the client's messages and inputs, `<Operation>Input` for the flat input of an operation or channel. Only a server loads them. */
  readonly accepts: () => Promise<
    Accepts & {
      /** HTTP statuses that any operation or handshake may be refused with, beside the operation's own. Only tools that check recordings read them. */
      readonly faults?: readonly number[];
      /** Examples of the server's answers. Only tests load them; older generated code has none. */
      readonly examples?: () => Promise<{ readonly examples: Examples }>;
    }
  >;
  /** The name of the message that a tag is a case of, such as `data-*`, among those that `messages` has. Only where some names are prefixes. */
  readonly prefixed?: (tag: unknown, messages: { has(name: string): boolean }) => string | undefined;
  readonly types?: { readonly client: Client; readonly handlers: Handlers };
}

/** One example of each form that the server writes, in wire form. */
export interface Examples {
  /** By schema title. */
  readonly schemas: Readonly<Record<SchemaName, Json>>;
  /** Examples of text answers, by operation. */
  readonly texts: Readonly<Record<string, string>>;
}
