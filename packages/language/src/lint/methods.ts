import type { RpcMethod, SchemaObject, Side } from "@parlance/wire";
import { escapeStep, parsePointer } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { frameTitle, sends } from "../methods.js";
import { didYouMean } from "../nearest.js";
import { otherKinds } from "./kinds.js";
import { inContract, list, membersOf, type Subject } from "./subject.js";

/** Every method has schemas of objects, and the notifications that it names are of the right side and session. */
export function* methods(subject: Subject): Generator<Finding> {
  const { methods = {}, rpc, errors = {} } = subject.contract;
  const frames = new Map<string, string>();
  for (const [name, method] of Object.entries(methods)) {
    const at = `/methods/${escapeStep(name)}`;
    if (name.startsWith("rpc.")) yield inContract("method", at, 'begins with "rpc.", which JSON-RPC keeps to itself');
    const other = frames.get(frameTitle(name));
    if (other !== undefined)
      yield inContract("method", at, `and ${other} would both have frames of the type ${frameTitle(name)}; rename one`);
    frames.set(frameTitle(name), name);
    yield* schemas(method, at, subject);
    yield* stream(name, method, at, subject);
    yield* cancel(method, at, subject);
    yield* needs(method, at, subject);
  }
  yield* cancelById(rpc?.cancel, subject);
  const words = new Map<string, string>();
  for (const [number, { code }] of Object.entries(errors)) {
    if (words.has(code))
      yield inContract("method", `/errors/${number}/code`, `is also the word for ${words.get(code)}; choose another`);
    words.set(code, number);
  }
}

function* schemas({ params, result }: RpcMethod, at: string, subject: Subject): Generator<Finding> {
  for (const [kind, file] of Object.entries({ params, result })) {
    if (file === undefined || subject.unreadable.has(file)) continue;
    if (!subject.schemas[file])
      yield inContract(
        "name",
        `${at}/${kind}`,
        `names ${file}, which does not exist${didYouMean(file, Object.keys(subject.schemas))}`,
      );
    else if (otherKinds(subject, file) !== undefined)
      yield inContract("method", `${at}/${kind}`, `${file} must describe an object, because ${kind} are one`);
  }
}

/** Finds the notification that a method names; yields why it cannot be that. */
function* notification(
  name: string,
  by: readonly Side[],
  at: string,
  { contract: { methods = {} } }: Subject,
): Generator<Finding, RpcMethod | undefined> {
  const named = methods[name];
  const fitting = Object.entries(methods).flatMap(([one, { result, by: sender }]) =>
    result === undefined && by.every((side) => sends(sender, side)) ? one : [],
  );
  if (fitting.includes(name)) return named;
  const who = by.length === 2 ? "both sides" : `the ${by[0] ?? "client or the server"}`;
  const what = named === undefined ? "not a method" : named.result ? "a request" : `not sent by ${who}`;
  yield inContract(
    "method",
    at,
    `"${name}" is ${what}; the notifications of ${who} are ${list(fitting)}${didYouMean(name, fitting)}`,
  );
  return undefined;
}

function* stream(name: string, method: RpcMethod, at: string, subject: Subject): Generator<Finding> {
  if (method.stream === undefined) return;
  const other = (["client", "server"] as const).filter((side) =>
    sends(method.by, side === "client" ? "server" : "client"),
  );
  const named = yield* notification(method.stream, other, `${at}/stream`, subject);
  if (named) yield* ofSession([name, method], [method.stream, named], `${at}/stream`, subject);
}

function* cancel(method: RpcMethod, at: string, subject: Subject): Generator<Finding> {
  if (method.cancel === undefined) return;
  const named = yield* notification(method.cancel, [], `${at}/cancel`, subject);
  if (named) yield* ofSession(["the method", method], [method.cancel, named], `${at}/cancel`, subject);
}

/** Two methods that belong together by the key of their session have it. */
function* ofSession(
  one: readonly [string, RpcMethod],
  other: readonly [string, RpcMethod],
  at: string,
  subject: Subject,
): Generator<Finding> {
  const { session } = subject.contract;
  if (session === undefined)
    yield inContract(
      "method",
      at,
      'belongs to a request by the key of its session; write "session", such as sessionId',
    );
  else
    for (const [name, { params }] of [one, other]) {
      const inner = params === undefined ? undefined : membersOf(subject, params);
      if (params === undefined || (inner && !(session in inner.properties)))
        yield inContract("method", at, `needs the key of the session, and the params of ${name} have no ${session}`);
    }
}

function* cancelById(name: string | undefined, subject: Subject): Generator<Finding> {
  if (name === undefined) return;
  const named = yield* notification(name, ["client", "server"], "/rpc/cancel", subject);
  const inner = named?.params === undefined ? undefined : membersOf(subject, named.params);
  if (named && (named.params === undefined || (inner && !("requestId" in inner.properties))))
    yield inContract(
      "method",
      "/rpc/cancel",
      `needs the id of the request, and the params of ${name} have no requestId`,
    );
}

/** Something that the handling side writes has the place. */
function* needs({ by, needs }: RpcMethod, at: string, subject: Subject): Generator<Finding> {
  if (needs === undefined) return;
  const handler = (side: Side) => sends(by, side === "client" ? "server" : "client");
  const written = Object.values(subject.contract.methods ?? {}).flatMap(({ by: sender, params, result }) =>
    (["client", "server"] as const)
      .filter(handler)
      .flatMap((side) => [
        ...(sends(sender, side) && params !== undefined ? [params] : []),
        ...(sends(sender, side === "client" ? "server" : "client") && result !== undefined ? [result] : []),
      ]),
  );
  if (written.some((file) => leads(needs, file, subject))) return;
  yield inContract("method", `${at}/needs`, `no params or result of the side that handles the method has ${needs}`);
}

/** Whether a pointer leads to a property of a file's schema; true where a schema on the way cannot be judged. */
function leads(pointer: string, file: string, subject: Subject): boolean {
  let schema: SchemaObject | undefined;
  for (const name of parsePointer(pointer)) {
    const inner = membersOf(subject, file, schema);
    if (!inner) return true;
    const next = alternatives(inner.properties[name] as SchemaObject | undefined);
    if (next === undefined) return false;
    schema = next;
  }
  return true;
}

/** A property that may also be null leads on as its other form. */
function alternatives(schema: SchemaObject | undefined): SchemaObject | undefined {
  const forms = (schema?.anyOf as SchemaObject[] | undefined)?.filter(({ type }) => type !== "null");
  return forms?.length === 1 ? forms[0] : schema;
}
