import type { ContractDocument, Json, SchemaObject, Side } from "@parlance/wire";
import { isObject } from "@parlance/wire/json";
import { pascal } from "./schema.js";
import type { Source } from "./source.js";

/** A contract's parts that its methods add to. */
interface Parts {
  readonly source?: Source | undefined;
  /** File -> schema. */
  readonly schemas: Readonly<Record<string, SchemaObject>>;
}

/** The messages that answer a request. Names that begin with `rpc.` are free: JSON-RPC reserves them (section 4). */
export const RESULT = "rpc.result";
export const ERROR = "rpc.error";

const FAULT = "messages/rpc.fault.json";

/** The title of the schema of a method's frames. */
export const frameTitle = (method: string): string => `${pascal(method)}Frame`;

/** The file that the schema of a message's frames seems to be in. */
const fileOf = (message: string): string => `messages/rpc.${pascal(message)}.json`;

/** Whether a side sends a method. */
export const sends = (by: unknown, side: Side): boolean => by === side || by === "both";

/** The schemas of the results that one side answers the other's requests with, by title. */
export function resultsFor({ contract }: Pick<ContractDocument, "contract">, side: Side): string[] {
  const other = side === "client" ? "server" : "client";
  return Object.values(contract.methods ?? {}).flatMap(({ by, result }) =>
    result !== undefined && sends(by, other) ? result : [],
  );
}

/**
 * Expands the methods of a contract to messages, their schemas, and exchanges. Readers of a contract then need not know JSON-RPC.
 * Frames are told apart by their shape; a result does not name its method, so that all results are one message.
 */
export function expandMethods<P extends Parts>(parts: P): P {
  const { source, schemas } = parts;
  if (source === undefined || !isObject(source.methods)) return parts;
  const methods = Object.entries<Source>(source.methods as Source).filter(([, method]) => isObject(method));
  const frames = Object.fromEntries(
    methods.map(([name, method]) => [fileOf(name), frame(name, method, schemas[method.params])]),
  );
  const requests = methods.filter(([, { result }]) => result !== undefined);
  const said = (side: Side) => [
    ...methods.filter(([, { by }]) => sends(by, side)).map(([name]) => name),
    ...(requests.length > 0 ? [RESULT, ERROR] : []),
  ];
  const channel = (one: unknown) => (isObject(one) ? { ...one, client: said("client"), server: said("server") } : one);
  const expanded: Source = {
    ...source,
    tag: { in: "shape" },
    messages: {
      ...Object.fromEntries(methods.map(([name, { result }]) => [name, shaped(name, result !== undefined)])),
      ...(requests.length > 0 && answers),
    },
    operations: {},
    channels: mapped(source.channels, channel),
    exchanges: requests.flatMap(([ask, { by }]) =>
      (["client", "server"] as const)
        .filter((side) => sends(by, side))
        .map((side) => ({ ask, by: side, key: "id", answers: [{ message: RESULT }, { message: ERROR }] })),
    ),
    fault: source.fault ?? { schema: FAULT, text: ["/message"] },
  };
  const more = { ...frames, ...(requests.length > 0 && answerFrames), ...(source.fault ? {} : { [FAULT]: fault }) };
  return { ...parts, source: expanded, schemas: { ...schemas, ...more } };
}

function mapped(record: unknown, change: (value: unknown) => unknown): unknown {
  if (!isObject(record)) return record;
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

const shaped = (method: string, isRequest: boolean) => ({
  schema: fileOf(method),
  shape: { const: { jsonrpc: "2.0", method }, ...(isRequest ? { required: ["id"] } : { forbidden: ["id"] }) },
});

const answer = (message: string, property: string) => ({
  schema: fileOf(message),
  shape: { const: { jsonrpc: "2.0" }, required: ["id", property], forbidden: ["method"] },
});

const answers = {
  [RESULT]: answer(RESULT, "result"),
  [ERROR]: { ...answer(ERROR, "error"), fault: { text: ["/error/message"], details: ["/error/data"] } },
};

const jsonrpc = { const: "2.0" };
const id = { description: "The id of the request, which its answer repeats.", type: ["string", "number", "null"] };

/** The schema of a method's frames on the wire. */
function frame(name: string, method: Source, params: SchemaObject | undefined): SchemaObject {
  const isRequest = method.result !== undefined;
  const example = (given?: Json) => ({
    jsonrpc: "2.0",
    ...(isRequest && { id: 1 }),
    method: name,
    ...(given !== undefined && { params: given }),
  });
  const examples = params === undefined ? [example()] : (params.examples ?? [{}]).map(example);
  return {
    title: frameTitle(name),
    ...(typeof method.summary === "string" && { description: method.summary }),
    examples,
    type: "object",
    required: ["jsonrpc", ...(isRequest ? ["id"] : []), "method", ...(needsParams(params) ? ["params"] : [])],
    properties: {
      jsonrpc,
      ...(isRequest && { id }),
      method: { const: name },
      params:
        params === undefined
          ? { description: "Nothing in it has a meaning.", type: "object" }
          : { $ref: String(method.params).slice("messages/".length) },
    },
  };
}

/** Whether the params may not be left out. */
const needsParams = (params: SchemaObject | undefined): boolean =>
  params !== undefined &&
  ((params.required as string[] | undefined) ?? []).length + Number("anyOf" in params || "allOf" in params) > 0;

const answerFrames: Readonly<Record<string, SchemaObject>> = {
  [fileOf(RESULT)]: {
    title: frameTitle(RESULT),
    description: "Answers a request. Its result is that of the request's method.",
    examples: [{ jsonrpc: "2.0", id: 1, result: {} }],
    type: "object",
    required: ["jsonrpc", "id", "result"],
    properties: { jsonrpc, id, result: { description: "The result of the request's method." } },
  },
  [fileOf(ERROR)]: {
    title: frameTitle(ERROR),
    description: "Refuses a request, or a frame whose id could not be read.",
    examples: [{ jsonrpc: "2.0", id: 1, error: { code: -32601, message: "there is no method session/fly" } }],
    type: "object",
    required: ["jsonrpc", "id", "error"],
    properties: {
      jsonrpc,
      id,
      error: {
        description: "Why.",
        type: "object",
        required: ["code", "message"],
        properties: {
          code: { description: "The kind of error, an integer.", type: "integer" },
          message: { description: "The reason, in a sentence.", type: "string" },
          data: { description: "More about it." },
        },
      },
    },
  },
};

/** The body of an HTTP answer that refuses a handshake. */
const fault: SchemaObject = {
  title: "HandshakeFault",
  description: "Refuses to open the channel.",
  examples: [{ message: "valid credentials are needed" }],
  type: "object",
  required: ["message"],
  properties: { message: { description: "The reason, in a sentence.", type: "string" } },
};
