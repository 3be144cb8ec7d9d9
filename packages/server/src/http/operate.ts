import type { Bytes, OpenAsk } from "@parlance/contract";
import { type AnyContract, type AnyMessage, assertChecked, bindAnswer, checkOf, inputName } from "@parlance/wire";
import { type Scope, within } from "@parlance/wire/scope";
import { type Context, callOf, sessionOf } from "../call.js";
import type { Called } from "../options.js";
import { ByteWriter, sizeOf } from "../stream/bytes.js";
import type { Answer } from "./answer.js";

/** Calls the handler of an operation and checks its answer. It settles the open ask that the operation answers, and may end its session. */
export async function operate(
  context: Context,
  called: Called,
  body: ReadableStream<Uint8Array> | undefined,
  call: Scope,
): Promise<Answer> {
  const { contract, handlers, limits, sessions, root } = context;
  const { operation: name, input } = called;
  const reply = { ...input, type: name } as AnyMessage;
  const session = sessionOf(context, called);
  const found = session === undefined ? undefined : await sessions.find(session, reply);
  let settled: { readonly done: Promise<void> | void } | undefined;
  const ask: OpenAsk | undefined = found && {
    message: found.message,
    settle(answer) {
      const done = sessions.settle(session!, answer);
      done?.catch(() => {});
      settled = { done };
    },
  };
  // The wait is the app's, not the connection's: what a handler decides counts, also when its caller has gone.
  const value = await within(root, limits.answerWithin, `the handler of ${name}`, () =>
    handlers[name]!(input, ...(body ? [body] : []), callOf(context, called, call.signal, ask)),
  );
  const answered = answerOf(context, name, value, call);
  if (ask && !settled) ask.settle(reply);
  // The ask may be another server's, which tells whether this answer was the first.
  await settled?.done;
  if (session !== undefined && endsSession(contract, name)) sessions.end(session);

  return answered;
}

function endsSession({ operations, channels }: AnyContract, name: string): boolean {
  const streams = [...Object.values(operations).map(({ answer }) => answer.stream), ...Object.values(channels)];
  return streams.some((stream) => stream?.closedBy === name);
}

/** What a handler returned as the answer of its operation. Throws `Violation` where it breaks its schema. */
function answerOf({ contract, limits, callbacks }: Context, name: string, value: unknown, call: Scope): Answer {
  const { status, json, text, binary, headers: declared } = contract.operations[name]!.answer;
  const origin = { protocol: contract.name, side: "server" as const, subject: name };
  const check = (title: string, part: unknown, what: string) =>
    assertChecked(checkOf(contract, contract.checks, title), part, origin, what);
  const { headers: own = {}, body } = (declared ? (value ?? {}) : { body: value }) as Written;
  if (declared) check(inputName(name, "Headers"), own, "the headers of");
  const headers = bindAnswer(`${contract.name}.${name}`, own);
  if (json !== undefined) {
    check(json, body, "the answer of");
    return { status, headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) };
  }
  if (text !== undefined) return { status, headers: { ...headers, "Content-Type": text }, body: String(body) };
  if (binary === undefined) return { status, headers, body: "" };
  if (!isBytes(body)) throw new TypeError(`the handler of ${name} returned no ReadableStream, Uint8Array or Blob`);
  const size = sizeOf(body);
  const length: Record<string, string> = size === undefined ? {} : { "Content-Length": String(size) };
  const report = (error: unknown) => callbacks.report(error, "handler", name);
  return {
    status,
    headers: { ...headers, "Content-Type": binary, ...length },
    body: new ByteWriter(body, call.child("readers"), limits, report),
  };
}

interface Written {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

const isBytes = (body: unknown): body is Bytes =>
  body instanceof ReadableStream || body instanceof Uint8Array || body instanceof Blob;
