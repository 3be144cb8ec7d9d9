export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON Pointer (RFC 6901) into a body, such as `/error/code`. In reading rules `*` stands for every array element. */
export type Pointer = string;
