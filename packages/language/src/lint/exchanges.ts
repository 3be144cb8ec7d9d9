import type { Exchange, Reply, SchemaObject } from "@parlance/wire";
import { formatPointer, keyPath, parsePointer } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { didYouMean } from "../nearest.js";
import { carries } from "./names.js";
import { inContract, inputNames, list, membersOf, type Subject, said } from "./subject.js";

/** The response of every exchange exists, goes the other way, and repeats the key. */
export function* exchanges(subject: Subject): Generator<Finding> {
  for (const [index, exchange] of (subject.contract.exchanges ?? []).entries())
    yield* one(exchange, `/exchanges/${index}`, subject);
}

function* one(exchange: Exchange, at: string, subject: Subject): Generator<Finding> {
  const other = exchange.by === "client" ? "server" : "client";
  const asked = said(subject, exchange.by);
  const answered = said(subject, other);
  if (!asked.includes(exchange.ask))
    yield inContract(
      "exchange",
      `${at}/ask`,
      `"${exchange.ask}" is not a message of the ${exchange.by}: ${list(asked)}${didYouMean(exchange.ask, asked)}`,
    );
  const ask = propertiesOf(subject, exchange.ask);
  const unknown = exchange.key && lack(subject, subject.contract.messages[exchange.ask]?.schema, exchange.key, ask);
  if (unknown) yield inContract("exchange", `${at}/key`, `the ask ${exchange.ask} has no property ${unknown}`);
  for (const name of Object.keys(exchange.when ?? {}))
    if (ask && !ask.includes(name))
      yield inContract(
        "exchange",
        `${at}/when/${name}`,
        `the ask ${exchange.ask} has no property ${name}${didYouMean(name, ask)}`,
      );
  if (exchange.busy !== undefined && !answered.includes(exchange.busy))
    yield inContract(
      "exchange",
      `${at}/busy`,
      `"${exchange.busy}" is not a message of the ${other}: ${list(answered)}${didYouMean(exchange.busy, answered)}`,
    );
  if (exchange.key === undefined) yield* carries(exchange.busy, answered, `${at}/busy`, subject);
  if (exchange.busy !== undefined && exchange.key !== undefined)
    yield inContract(
      "exchange",
      `${at}/busy`,
      "is only for exchanges without a key; with a key, several asks may be open",
    );

  for (const [index, reply] of exchange.answers.entries())
    yield* answerOf(exchange, reply, `${at}/answers/${index}`, subject);
}

function* answerOf(exchange: Exchange, reply: Reply, at: string, subject: Subject): Generator<Finding> {
  const { contract } = subject;
  const other = exchange.by === "client" ? "server" : "client";
  const answered = said(subject, other);
  const ask = propertiesOf(subject, exchange.ask);
  const answer = reply.message ?? reply.operation ?? "";
  const kind = reply.message === undefined ? "operation" : "message";
  if (kind === "message" && !answered.includes(answer))
    yield inContract(
      "exchange",
      `${at}/message`,
      `"${answer}" is not a message of the ${other}: ${list(answered)}${didYouMean(answer, answered)}`,
    );
  if (kind === "operation" && !(answer in contract.operations))
    yield inContract(
      "exchange",
      `${at}/operation`,
      `there is no operation ${answer}${didYouMean(answer, Object.keys(contract.operations))}`,
    );
  if (kind === "operation" && exchange.by === "client")
    yield inContract(
      "exchange",
      `${at}/operation`,
      "is an operation, which only a client can call; it can answer only an ask of the server",
    );
  if (kind === "message" && !answered.includes(answer)) return;
  const properties =
    kind === "message"
      ? propertiesOf(subject, answer)
      : answer in contract.operations
        ? inputNames(subject, contract.operations[answer]!)
        : undefined;
  if (!properties) return;
  const key = reply.key ?? exchange.key;
  const file = kind === "message" ? contract.messages[answer]!.schema : contract.operations[answer]!.body;
  const unknown = exchange.key && lack(subject, file, key!, properties, ", the key of this exchange");
  if (unknown)
    yield inContract("exchange", reply.key ? `${at}/key` : at, `the answer ${answer} has no property ${unknown}`);
  for (const [name, place] of named(reply))
    if (!properties.includes(name))
      yield inContract(
        "exchange",
        `${at}/${place}`,
        `the answer ${answer} has no property ${name}${didYouMean(name, properties)}`,
      );
  for (const [pointer, place] of pointed(reply)) {
    const [step = ""] = parsePointer(pointer);
    if (ask && !ask.includes(step))
      yield inContract(
        "exchange",
        `${at}/${place}`,
        `the ask ${exchange.ask} has no property ${step}${didYouMean(step, ask)}`,
      );
  }
}

/** The answer's properties that a reply names, each with its place in the reply. */
function named({ partial = {}, echo, whole = [] }: Reply): [name: string, place: string][] {
  return [
    ...Object.keys(partial).map((name): [string, string] => [name, `partial/${name}`]),
    ...whole.flatMap(({ when = {}, same = {} }, index) => [
      ...Object.keys(when).map((name): [string, string] => [name, `whole/${index}/when/${name}`]),
      ...Object.keys(same).map((name): [string, string] => [name, `whole/${index}/same/${name}`]),
    ]),
    ...(echo === undefined ? [] : [[echo, "echo"] as [string, string]]),
  ];
}

/** The JSON Pointers into the ask, each with its place in the reply. */
function pointed({ whole = [] }: Reply): [pointer: string, place: string][] {
  return whole.flatMap(({ same = {}, single }, index) => [
    ...Object.entries(same).map(([name, pointer]): [string, string] => [pointer, `whole/${index}/same/${name}`]),
    ...(single === undefined ? [] : [[single, `whole/${index}/single`] as [string, string]]),
  ]);
}

/** What a key names that is not there, for a sentence. `names` are those of its first step; undefined where nothing can be said. */
function lack(
  subject: Subject,
  file: string | undefined,
  key: string,
  names: readonly string[] | undefined,
  what = "",
): string | undefined {
  let there = names;
  let inner: SchemaObject | undefined;
  const path = keyPath(key);
  for (const [index, step] of path.entries()) {
    if (there === undefined) return undefined;
    const where = index === 0 ? "" : ` in ${formatPointer(path.slice(0, index))}`;
    if (!there.includes(step)) return `${step}${where}${what}${didYouMean(step, there)}`;
    inner = membersOf(subject, file, inner)?.properties[step] as SchemaObject | undefined;
    there = typeof inner === "object" ? Object.keys(membersOf(subject, file, inner)?.properties ?? {}) : [];
  }
  return undefined;
}

function propertiesOf(subject: Subject, message: string): string[] | undefined {
  const inner = membersOf(subject, subject.contract.messages[message]?.schema);
  return inner && Object.keys(inner.properties);
}
