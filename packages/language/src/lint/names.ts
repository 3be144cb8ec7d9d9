import type { FaultPlaces, SchemaObject, Stream, TextPlaces } from "@parlance/wire";
import { escapeStep, parsePointer } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { didYouMean } from "../nearest.js";
import { inContract, list, membersOf, type Subject } from "./subject.js";

/** Every name in contract.json is defined, and every message is sent by one side. */
export function* names(subject: Subject): Generator<Finding> {
  const { contract, source, schemas } = subject;
  if (contract.name !== subject.name)
    yield inContract(
      "name",
      "/name",
      `is "${contract.name}", but the folder is called "${subject.name}"; the two names must be equal`,
    );

  const file = function* (name: unknown, pointer: string): Generator<Finding> {
    if (typeof name !== "string") return;
    if (name in schemas || subject.unreadable.has(name)) return;
    yield inContract("name", pointer, `names ${name}, which does not exist${didYouMean(name, Object.keys(schemas))}`);
  };
  for (const [name, { schema }] of Object.entries(contract.messages))
    yield* file(schema, `/messages/${escapeStep(name)}/schema`);
  for (const [name, { body, answer }] of Object.entries(contract.operations)) {
    yield* file(body, `/operations/${name}/body`);
    yield* file(answer.json, `/operations/${name}/answer/json`);
  }
  yield* file(source.fault.schema, "/fault/schema");

  const spoken = new Set<string>();
  for (const [name, { answer }] of Object.entries(contract.operations)) {
    if (!answer.stream) continue;
    yield* stream(answer.stream, `/operations/${name}/answer/stream`, subject);
    for (const message of answer.stream.messages) spoken.add(message);
  }
  for (const [name, channel] of Object.entries(contract.channels)) {
    const at = `/channels/${name}`;
    yield* known(channel.client, `${at}/client`, subject);
    yield* known(channel.server, `${at}/server`, subject);
    yield* among([channel.open?.client], channel.client, `${at}/open/client`, "the client's messages here");
    yield* among([channel.open?.server], channel.server, `${at}/open/server`, "the server's messages here");
    yield* among([channel.fault], channel.server, `${at}/fault`, "the server's messages here");
    yield* carries(channel.fault, channel.server, `${at}/fault`, subject);
    yield* among([channel.cancel], channel.client, `${at}/cancel`, "the client's messages here");
    yield* text(channel.text, channel.server, `${at}/text`, subject);
    for (const message of [...channel.client, ...channel.server]) spoken.add(message);
  }
  for (const [name, message] of Object.entries(contract.messages)) {
    const pointer = `/messages/${escapeStep(name)}`;
    if (!spoken.has(name))
      yield inContract("unused", pointer, `the message ${name} is not used by any stream or channel`);
    if (message.fault) yield* places(message.fault, message.schema, `${pointer}/fault`, subject);
  }
  yield* places(contract.fault, contract.fault.schema, "/fault", subject);
  for (const [index, { operation }] of (contract.reading ?? []).entries())
    if (operation !== undefined && !Object.hasOwn(contract.operations, operation))
      yield inContract(
        "name",
        `/reading/${index}/operation`,
        `there is no operation ${operation}${didYouMean(operation, Object.keys(contract.operations))}`,
      );
  for (const [profile, additions] of Object.entries(contract.profiles ?? {})) {
    yield* among(Object.keys(additions), Object.keys(contract.messages), `/profiles/${profile}`, "the messages");
    for (const [name, added] of Object.entries(additions)) {
      const own = Object.keys(membersOf(subject, contract.messages[name]?.schema)?.properties ?? {});
      const pointer = `/profiles/${profile}/${escapeStep(name)}`;
      if (own.length > 0) yield* among(copies(added), own, pointer, `the properties of ${name}`);
    }
  }
  yield* among([contract.profile], Object.keys(contract.profiles ?? {}), "/profile", "the profiles");
  const keys = sessionKeys(subject);
  if (contract.session !== undefined && !keys.includes(contract.session))
    yield inContract(
      "name",
      "/session",
      `no operation${contract.methods ? ", method" : ""} or channel has a parameter ${contract.session}${didYouMean(contract.session, keys)}`,
    );
}

/** Possible keys of a session: parameters, and the properties of params. */
function sessionKeys(subject: Subject): string[] {
  const methods = Object.values(subject.contract.methods ?? {});
  return [
    ...owners(subject).flatMap(({ parameters }) => Object.keys(parameters ?? {})),
    ...methods.flatMap(({ params }) => Object.keys(membersOf(subject, params)?.properties ?? {})),
  ];
}

const owners = ({ contract }: Subject) => [...Object.values(contract.operations), ...Object.values(contract.channels)];

function* stream(stream: Stream, at: string, subject: Subject): Generator<Finding> {
  yield* known(stream.messages, `${at}/messages`, subject);
  const here = "the messages of its stream";
  for (const [index, name] of (stream.end ?? []).entries())
    yield* among([name], stream.messages, `${at}/end/${index}`, here);
  for (const [index, name] of (stream.mayEnd ?? []).entries())
    yield* among([name], stream.messages, `${at}/mayEnd/${index}`, here);
  yield* among([stream.fault], stream.messages, `${at}/fault`, here);
  yield* carries(stream.fault, stream.messages, `${at}/fault`, subject);
  yield* sentinel(stream, at);
  yield* among([stream.closedBy], Object.keys(subject.contract.operations), `${at}/closedBy`, "the operations");
  yield* text(stream.text, stream.messages, `${at}/text`, subject);
}

/** A message that a server sends for a failure says where the reason stands. */
export function* carries(
  name: string | undefined,
  messages: readonly string[],
  at: string,
  { contract }: Subject,
): Generator<Finding> {
  if (name !== undefined && messages.includes(name) && contract.messages[name] && !contract.messages[name].fault)
    yield inContract(
      "fault",
      at,
      `the message ${name} does not say where the reason of a failure stands; add "fault" to it, such as { "text": ["/error"] }`,
    );
}

function* sentinel({ sentinel, fault, messages, end = [], mayEnd = [] }: Stream, at: string): Generator<Finding> {
  if (sentinel === undefined) return;
  if (/^\{.*\}$/.test(sentinel))
    yield inContract(
      "sentinel",
      `${at}/sentinel`,
      `${sentinel} is an object, and so a message; describe it in "messages" and name it in "end"`,
    );
  if (fault !== undefined && messages.includes(fault) && ![...end, ...mayEnd].includes(fault))
    yield inContract(
      "sentinel",
      `${at}/fault`,
      `"${fault}" is the last message of a stream that fails, and no sentinel follows it; name it in "end" too`,
    );
}

function* known(names: readonly string[], at: string, { contract }: Subject): Generator<Finding> {
  const messages = Object.keys(contract.messages);
  for (const [index, name] of names.entries()) yield* among([name], messages, `${at}/${index}`, "the messages");
}

function* among(
  names: readonly (string | undefined)[],
  there: readonly string[],
  at: string,
  what: string,
): Generator<Finding> {
  for (const name of names)
    if (name !== undefined && !there.includes(name))
      yield inContract("name", at, `"${name}" is not among ${what}: ${list(there)}${didYouMean(name, there)}`);
}

function* text(
  places: TextPlaces | undefined,
  there: readonly string[],
  at: string,
  subject: Subject,
): Generator<Finding> {
  for (const [kind, pairs] of Object.entries(places ?? {}))
    for (const [message, property] of Object.entries(pairs as Record<string, string>)) {
      const pointer = `${at}/${kind}/${escapeStep(message)}`;
      if (!there.includes(message)) {
        yield* among([message], there, pointer, "the messages here");
        continue;
      }
      const inner = membersOf(subject, subject.contract.messages[message]?.schema);
      if (inner && !Object.hasOwn(inner.properties, property))
        yield inContract(
          "name",
          pointer,
          `the message ${message} has no property ${property}${didYouMean(property, Object.keys(inner.properties))}`,
        );
    }
}

/** The properties that a profile copies, within objects too. */
function copies(added: unknown): string[] {
  if (typeof added !== "object" || added === null) return [];
  const { copyOf } = added as { copyOf?: unknown };
  return typeof copyOf === "string" ? [copyOf] : Object.values(added).flatMap(copies);
}

/** The first place of a fault is the written one, so it has to be in the schema. */
function* places(places: FaultPlaces, file: string, at: string, subject: Subject): Generator<Finding> {
  for (const kind of ["code", "text", "details", "recoverable"] as const) {
    let schema: SchemaObject | undefined;
    for (const name of parsePointer(places[kind]?.[0] ?? "")) {
      const inner = membersOf(subject, file, schema);
      if (!inner) break;
      schema = inner.properties[name] as SchemaObject | undefined;
      if (!schema) yield inContract("name", `${at}/${kind}/0`, `${file} has no ${places[kind]![0]}`);
      if (!schema) break;
    }
  }
}
