import { type AnyContract, assertChecked, type Bytes, bindAnswer, checkOf, inputName, misuse } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { Callbacks } from "../callback.js";
import type { Limits } from "../limits.js";
import { ByteWriter, sizeOf } from "../stream/bytes.js";
import type { Answer } from "./answer.js";

/** What is known of an operation before it is called. */
export interface Operation {
  /** Its calls answer asks of a session. */
  readonly settles: boolean;
  readonly endsSession: boolean;
  /** Turns a handler's result into the answer. Throws `Violation` where it breaks its schema. */
  readonly answer: (runtime: Runtime, value: unknown, call: Scope) => Answer;
}

interface Runtime {
  readonly limits: Limits;
  readonly callbacks: Callbacks;
}

/** The operations of a contract that answer without a stream, by name. */
export function operationsOf(contract: AnyContract): ReadonlyMap<string, Operation> {
  const { operations, channels, exchanges = [] } = contract;
  const streams = [...Object.values(operations).map(({ answer }) => answer.stream), ...Object.values(channels)];
  const settling = new Set(exchanges.flatMap(({ answers }) => answers.map((one) => one.message ?? one.operation)));
  const ending = new Set(streams.map((stream) => stream?.closedBy));
  return new Map(
    Object.keys(operations)
      .filter((name) => !operations[name]!.answer.stream)
      .map((name) => [
        name,
        { settles: settling.has(name), endsSession: ending.has(name), answer: answerer(contract, name) },
      ]),
  );
}

function answerer(contract: AnyContract, name: string): Operation["answer"] {
  const { status, none, json, text, binary, headers: declared } = contract.operations[name]!.answer;
  const origin = { protocol: contract.name, side: "server" as const, subject: name };
  const checkBody = json === undefined ? undefined : checkOf(contract, contract.checks, json);
  /** The content type of the answer. */
  const type: string | undefined = json === undefined ? (text ?? binary) : "application/json";
  const fixed: Readonly<Record<string, string>> = type === undefined ? {} : { "Content-Type": type };
  const checkHeaders = declared && checkOf(contract, contract.checks, inputName(name, "Headers"));
  return ({ limits, callbacks }, value, call) => {
    if (none !== undefined && value === undefined) return { status: none, headers: {}, body: "" };
    const { headers: own = {}, body } = (declared ? (value ?? {}) : { body: value }) as Written;
    if (checkHeaders) assertChecked(checkHeaders, own, origin, "the headers of");
    const headers = declared ? { ...bindAnswer(`${contract.name}.${name}`, own), ...fixed } : fixed;
    if (checkBody) {
      assertChecked(checkBody, body, origin, "the answer of");
      return { status, headers, body: JSON.stringify(body) };
    }
    if (text !== undefined) return { status, headers, body: String(body) };
    if (binary === undefined) return { status, headers, body: "" };
    if (!isBytes(body)) throw misuse(`the handler of ${name} returned no ReadableStream, Uint8Array or Blob`);
    const size = sizeOf(body);
    const length: Record<string, string> = size === undefined ? {} : { "Content-Length": String(size) };
    const report = (error: unknown) => callbacks.report(error, "handler", name);
    return {
      status,
      size,
      headers: { ...headers, ...length },
      body: new ByteWriter(body, call.child("readers"), limits, report),
    };
  };
}

interface Written {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

const isBytes = (body: unknown): body is Bytes =>
  body instanceof ReadableStream || body instanceof Uint8Array || body instanceof Blob;
