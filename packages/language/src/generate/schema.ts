import type { ChannelContract, ContractDocument, Operation, SchemaObject } from "@parlance/wire";
import { headersSchema, inputSchema } from "../schema.js";

/** Whether a call takes an input. A client decides by the same rule if its first argument is the input or the options. */
export function hasInput(call: Operation | ChannelContract): boolean {
  return call.parameters !== undefined || ("body" in call && call.body !== undefined);
}

/** The headers of all answers that declare some. */
export function answerHeaders(document: ContractDocument): SchemaObject[] {
  return Object.keys(document.contract.operations).flatMap((name) => headersSchema(document, name) ?? []);
}

/** The flat inputs of all operations and channels that take one. */
export function inputs(document: ContractDocument): SchemaObject[] {
  const { operations, channels } = document.contract;
  const calls = Object.entries({ ...operations, ...channels }).filter(([, call]) => hasInput(call));
  return calls.map(([name]) => inputSchema(document, name));
}
