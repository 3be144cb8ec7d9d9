import type { Rejoin } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { didYouMean } from "../nearest.js";
import { inContract, list, membersOf, type Subject } from "./subject.js";

/** A stream that is joined again goes on by an operation that a client can call with what it knows then. */
export function* rejoins(subject: Subject): Generator<Finding> {
  for (const [name, { answer }] of Object.entries(subject.contract.operations)) {
    const { rejoin, messages = [] } = answer.stream ?? {};
    if (rejoin !== undefined) yield* joined(subject, name, rejoin, messages);
  }
}

function* joined(
  subject: Subject,
  name: string,
  { operation, input = {}, after = {}, repeats }: Rejoin,
  messages: readonly string[],
): Generator<Finding> {
  const { operations } = subject.contract;
  const at = `/operations/${name}/answer/stream/rejoin`;
  const finding = (pointer: string, message: string) => inContract("rejoin", `${at}${pointer}`, message);
  const other = Object.hasOwn(operations, operation) ? operations[operation]! : undefined;
  if (other === undefined) {
    const names = Object.keys(operations);
    yield finding("/operation", `there is no operation ${operation}${didYouMean(operation, names)}`);
    return;
  }
  const { method, parameters = {}, answer } = other;
  if (method !== "GET" || answer.stream === undefined) {
    yield finding("/operation", `is ${operation}, and only a GET with a stream can be sent again; name one`);
    return;
  }
  const missing = messages.filter((one) => !answer.stream!.messages.includes(one));
  if (missing.length > 0)
    yield finding(
      "/operation",
      `is ${operation}, whose stream lacks the messages ${list(missing)} of this one; add them`,
    );
  for (const [word, places] of Object.entries({ input, after }))
    for (const key of Object.keys(places))
      if (!Object.hasOwn(parameters, key))
        yield finding(
          `/${word}/${escapeStep(key)}`,
          `${operation} has no parameter ${key}${didYouMean(key, Object.keys(parameters))}`,
        );
  const own = operations[name]!;
  const known = [
    ...Object.keys(own.parameters ?? {}),
    ...Object.keys(membersOf(subject, own.body)?.properties ?? {}),
    ...Object.keys(input),
    ...Object.keys(after),
    ...Object.keys(other.when ?? {}),
  ];
  for (const key of Object.keys(parameters))
    if ((parameters[key]!.required || parameters[key]!.in === "path") && !known.includes(key))
      yield finding("", `needs "input" with ${key}, a parameter of ${operation} that ${name} has none of the name for`);
  if (repeats && Object.keys(after).length > 0)
    yield finding(
      "/repeats",
      'stands beside "after": a stream comes from its beginning, or from a place; leave one out',
    );
}
