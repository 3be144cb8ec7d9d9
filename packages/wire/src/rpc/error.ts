import type { Contract } from "../contract/contract.js";
import type { Json } from "../contract/schema.js";
import { Refusal } from "../errors.js";

// JSON-RPC 2.0, section 5.1.
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** The answer to a request that was cancelled, as in LSP and ACP. */
export const CANCELLED = -32800;

const WORDS: Readonly<Record<number, string>> = {
  [PARSE_ERROR]: "parse_error",
  [INVALID_REQUEST]: "invalid_request",
  [METHOD_NOT_FOUND]: "method_not_found",
  [INVALID_PARAMS]: "invalid_params",
  [INTERNAL_ERROR]: "internal_error",
  [CANCELLED]: "request_cancelled",
};

/** The error of an answer (JSON-RPC 2.0, section 5.1). */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The word for a code: the contract's, that of JSON-RPC, or the number. */
const wordOf = ({ errors }: Contract, code: number): string => errors?.[code]?.code ?? WORDS[code] ?? String(code);

/** Turns a refusal into an error. A code that is neither a known word nor a number is written as an internal error. */
export function rpcError(contract: Contract, { code, message, details }: Refusal): RpcError {
  const codes = [...Object.keys(contract.errors ?? {}), ...Object.keys(WORDS)];
  const number = codes.find((one) => wordOf(contract, Number(one)) === code) ?? code;
  // What the peer has sent is wrong.
  if (/^status_(400|413|422)$/.test(code)) return { code: INVALID_PARAMS, message };
  const isNumber = /^-?\d{1,15}$/.test(number);
  return { code: isNumber ? Number(number) : INTERNAL_ERROR, message, ...(details !== undefined && { data: details }) };
}

/** The inverse: the refusal of an error, with its data as the details. */
export function rpcRefusal(contract: Contract, { code, message, data }: RpcError): Refusal {
  return new Refusal(message, { code: wordOf(contract, code), details: data as Json | undefined });
}
