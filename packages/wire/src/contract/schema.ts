/**
 * The name of a schema. In `contract.json` it is a file path relative to that file ("messages/text.json");
 * in a loaded or generated contract it is the schema's title ("TextMessage").
 */
export type SchemaName = string;

/** A JSON Schema (2020-12). */
export type Schema = boolean | SchemaObject;

export interface SchemaObject {
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly Json[];
  readonly [keyword: string]: unknown;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON Pointer (RFC 6901) into a body, such as `/error/code`. In reading rules `*` stands for every array element. */
export type Pointer = string;

/** A message in memory: flat, with the name it has in the contract as `type`. */
export type AnyMessage = { readonly type: string };
