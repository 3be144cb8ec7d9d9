import { type Change, either, match, ofNarrow, ofRemove, same, type Writers } from "./compat/change.js";
import { schemaChanges, type Version } from "./compat/schemas.js";
import { escapePointer } from "./folder.js";
import type { Channel, ContractDocument, Exchange, FaultPlaces, Operation, Stream } from "./model.js";
import { inputSchema } from "./schema.js";

export type { Change } from "./compat/change.js";

const client: Writers = new Set(["client"]);
const server: Writers = new Set(["server"]);

/**
 * What changed from one version of a contract to the next, and whom it breaks. It is taken that a server takes up the new
 * contract before its clients do: what a client may newly say is safe, what a server may newly say is not, and what has to
 * be said newly breaks whoever has to say it. Prose, examples, reading tolerances that are new, and retries break nobody.
 */
export function compat(old: ContractDocument, now: ContractDocument): Change[] {
  const changes = [
    ...header(old, now),
    ...operations(old, now),
    ...channels(old, now),
    ...messages(old, now),
    ...exchanges(old, now),
    ...tolerances(old, now),
    ...faults(old, now),
  ];
  return merged(changes).sort(
    (a, b) => compare(a.file, b.file) || compare(a.pointer, b.pointer) || compare(a.what, b.what),
  );
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** A schema that is used in several places changes once; it breaks everybody whom it breaks in one of them. */
function merged(changes: readonly Change[]): Change[] {
  const found = new Map<string, Change>();
  for (const one of changes) {
    const key = `${one.file}#${one.pointer} ${one.what}`;
    found.set(key, { ...one, breaking: either(found.get(key)?.breaking ?? "none", one.breaking) });
  }
  return [...found.values()];
}

const change = (breaking: Change["breaking"], pointer: string, what: string): Change => ({
  breaking,
  what,
  file: "contract.json",
  pointer,
});

const say = (value: unknown) => (value === undefined ? "not given" : JSON.stringify(value));

function* header({ contract: a }: ContractDocument, { contract: b }: ContractDocument): Generator<Change> {
  for (const word of ["format", "name", "session"] as const)
    if (a[word] !== b[word]) yield change("both", `/${word}`, `${word} was ${say(a[word])} and is ${say(b[word])}`);
  if (a.url !== b.url) yield change("none", "/url", `url was ${say(a.url)} and is ${say(b.url)}`);
  if (!same(a.tag, b.tag)) yield change("both", "/tag", `tag was ${say(a.tag)} and is ${say(b.tag)}`);
  if (!same(a.auth, b.auth)) {
    const stricter = b.auth?.bearer === "required";
    const what = stricter ? "a token is required now" : "a token is no longer required";
    yield change(stricter ? "clients" : "none", "/auth/bearer", what);
  }
}

function* operations(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const [before, after] = [old.contract.operations, now.contract.operations];
  const { kept, gone, added } = match(Object.keys(before), Object.keys(after));
  for (const name of gone) yield change("clients", `/operations/${name}`, `the operation ${name} is gone`);
  for (const name of added) yield change("none", `/operations/${name}`, `the operation ${name} is new`);
  for (const name of kept) {
    const [a, b] = [before[name]!, after[name]!];
    const at = `/operations/${name}`;
    if (a.method !== b.method) yield change("clients", `${at}/method`, `${name} was ${a.method} and is ${b.method}`);
    yield* paths(a, b, at);
    if (!same(a.when, b.when)) yield change("clients", `${at}/when`, `when was ${say(a.when)} and is ${say(b.when)}`);
    if (a.answer.status !== b.answer.status)
      yield change("clients", `${at}/answer/status`, `the status was ${a.answer.status} and is ${b.answer.status}`);
    yield* inputs(old, now, name, at);
    const kind = ({ answer }: Operation) => ["json", "text", "stream"].find((one) => one in answer) ?? "empty";
    if (kind(a) !== kind(b)) yield change("both", `${at}/answer`, `the answer was ${kind(a)} and is ${kind(b)}`);
    else if (a.answer.json) yield* schemas(old, now, a.answer.json, b.answer.json!, server);
    else if (a.answer.stream) yield* stream(a.answer.stream, b.answer.stream!, `${at}/answer/stream`);
    else if (a.answer.text !== b.answer.text)
      yield change("clients", `${at}/answer/text`, `the content type was ${a.answer.text} and is ${b.answer.text}`);
    const statuses = match(Object.keys(a.faults ?? {}), Object.keys(b.faults ?? {}));
    for (const status of statuses.gone) yield change("none", `${at}/faults/${status}`, `the status ${status} is gone`);
    for (const status of statuses.added) yield change("none", `${at}/faults/${status}`, `the status ${status} is new`);
    for (const status of statuses.kept)
      if (!same(a.faults![status], b.faults![status]))
        yield change("clients", `${at}/faults/${status}`, `the body of ${status} has another form`);
  }
}

function* channels(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const [before, after] = [old.contract.channels, now.contract.channels];
  const { kept, gone, added } = match(Object.keys(before), Object.keys(after));
  for (const name of gone) yield change("clients", `/channels/${name}`, `the channel ${name} is gone`);
  for (const name of added) yield change("none", `/channels/${name}`, `the channel ${name} is new`);
  for (const name of kept) {
    const [a, b] = [before[name]!, after[name]!];
    const at = `/channels/${name}`;
    yield* paths(a, b, at);
    yield* inputs(old, now, name, at);
    for (const side of ["client", "server"] as const) {
      yield* said(a[side], b[side], `${at}/${side}`, side);
      if (a.open?.[side] !== b.open?.[side])
        yield change(
          "clients",
          `${at}/open/${side}`,
          `the ${side}'s first message was ${say(a.open?.[side])} and is ${say(b.open?.[side])}`,
        );
    }
    yield* readings(a, b, at);
  }
}

function* paths(a: Operation | Channel, b: Operation | Channel, at: string): Generator<Change> {
  const places = match([a.path, ...(a.alsoAt ?? [])], [b.path, ...(b.alsoAt ?? [])]);
  for (const path of places.gone) yield change("clients", `${at}/path`, `${path} is gone; it is ${b.path} now`);
  for (const path of places.added) yield change("none", `${at}/path`, `${path} is new`);
}

/** The flat input, and where each name travels. */
function* inputs(old: ContractDocument, now: ContractDocument, name: string, at: string): Generator<Change> {
  const version = (document: ContractDocument): Version => {
    const call = document.contract.operations[name] ?? document.contract.channels[name]!;
    const body = "body" in call && call.body !== undefined ? document.files[call.body]! : undefined;
    return { document, schema: inputSchema(document, name), file: body ?? "contract.json", pointer: body ? "" : at };
  };
  const [a, b] = [version(old), version(now)];
  yield* schemaChanges(a, b, client);
  const carrier = ({ document }: Version, key: string) =>
    (document.contract.operations[name] ?? document.contract.channels[name]!).parameters?.[key]?.in ?? "body";
  const keys = (version: Version) => Object.keys((version.schema as { properties: object }).properties);
  for (const key of match(keys(a), keys(b)).kept)
    if (carrier(a, key) !== carrier(b, key))
      yield change(
        "clients",
        `${at}/parameters`,
        `${key} was in the ${carrier(a, key)} and is in the ${carrier(b, key)}`,
      );
}

function* stream(a: Stream, b: Stream, at: string): Generator<Change> {
  yield* said(a.messages, b.messages, `${at}/messages`, "server");
  for (const word of ["end", "mayEnd"] as const) {
    const { gone, added } = match(a[word] ?? [], b[word] ?? []);
    for (const name of gone) yield change("clients", `${at}/${word}`, `${name} no longer ends the stream`);
    for (const name of added) yield change("clients", `${at}/${word}`, `${name} ends the stream now`);
  }
  if (a.closedBy !== b.closedBy)
    yield change(
      "clients",
      `${at}/closedBy`,
      `the stream was closed by ${say(a.closedBy)} and is closed by ${say(b.closedBy)}`,
    );
  yield* readings(a, b, at);
}

/** What a client makes of the messages: which is the failure, where the text is. */
function* readings(a: Stream | Channel, b: Stream | Channel, at: string): Generator<Change> {
  for (const word of ["fault", "text"] as const)
    if (!same(a[word], b[word]))
      yield change("clients", `${at}/${word}`, `${word} was ${say(a[word])} and is ${say(b[word])}`);
}

/** An unknown message is passed over, so a new one breaks nobody; one that is gone breaks clients, who say it or wait for it. */
function* said(before: readonly string[], after: readonly string[], at: string, side: string): Generator<Change> {
  const { gone, added } = match(before, after);
  for (const name of gone) yield change("clients", at, `the ${side}'s message ${name} is gone`);
  for (const name of added) yield change("none", at, `the ${side}'s message ${name} is new`);
}

function* messages(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const [before, after] = [old.contract.messages, now.contract.messages];
  const { kept } = match(Object.keys(before), Object.keys(after));
  for (const name of kept) {
    const [a, b] = [before[name]!, after[name]!];
    const at = `/messages/${escapePointer(name)}`;
    if (!same(a.shape, b.shape)) yield change("both", `${at}/shape`, `${name} is told apart by another shape`);
    if (a.fault || b.fault) yield* places(a.fault, b.fault, `${at}/fault`);
    yield* schemas(old, now, a.schema, b.schema, new Set([...writersOf(old, name), ...writersOf(now, name)]));
  }
  const order = (document: ContractDocument) =>
    Object.keys(document.contract.messages).filter((name) => kept.includes(name));
  if (now.contract.tag.in === "shape" && !same(order(old), order(now)))
    yield change("both", "/messages", "messages are matched in another order");
}

function writersOf({ contract }: ContractDocument, message: string): Writers {
  const streams = Object.values(contract.operations).some(({ answer }) => answer.stream?.messages.includes(message));
  const sides = (["client", "server"] as const).filter((side) =>
    Object.values(contract.channels).some((channel) => channel[side].includes(message)),
  );
  return new Set(streams ? [...sides, "server"] : sides);
}

function schemas(old: ContractDocument, now: ContractDocument, a: string, b: string, writers: Writers) {
  const version = (document: ContractDocument, title: string): Version => {
    const { $id, ...schema } = document.schemas[title]!;
    return { document, schema, file: document.files[title]!, pointer: "" };
  };
  return schemaChanges(version(old, a), version(now, b), writers);
}

function* exchanges(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const name = ({ ask, by, when }: Exchange) => `${by}'s ask ${ask}${when ? ` when ${JSON.stringify(when)}` : ""}`;
  const list = ({ contract }: ContractDocument) => contract.exchanges ?? [];
  const [before, after] = [list(old).map(name), list(now).map(name)];
  const { kept, gone, added } = match(before, after);
  for (const one of gone)
    yield change("both", `/exchanges/${before.indexOf(one)}`, `the ${one} has no answers any more`);
  for (const one of added) {
    const index = after.indexOf(one);
    const { ask, by } = list(now)[index]!;
    const known = ask in old.contract.messages;
    const answering = by === "server" ? client : server;
    yield change(known ? ofNarrow(answering) : "none", `/exchanges/${index}`, `the ${one} wants an answer now`);
  }
  for (const one of kept) {
    const index = after.indexOf(one);
    if (!same(list(old)[before.indexOf(one)], list(now)[index]))
      yield change("both", `/exchanges/${index}`, `the ${one} is answered in another way`);
  }
}

function* tolerances(old: ContractDocument, now: ContractDocument): Generator<Change> {
  for (const [index, rule] of (old.contract.reading ?? []).entries())
    if (!now.contract.reading?.some((one) => same(one, rule)))
      yield change(
        rule.of === "client" ? "clients" : "servers",
        `/reading/${index}`,
        `this of the ${rule.of}'s is no longer read`,
      );
  const { gone } = match(Object.keys(old.contract.profiles ?? {}), Object.keys(now.contract.profiles ?? {}));
  for (const name of gone)
    yield change(ofRemove(new Set(["client", "server"])), `/profiles/${name}`, `the profile ${name} is gone`);
}

function* faults(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const [a, b] = [old.contract.fault, now.contract.fault];
  yield* places(a, b, "/fault");
  yield* schemas(old, now, a.schema, b.schema, server);
  const codes = match(Object.keys(a.codes ?? {}), Object.keys(b.codes ?? {}));
  for (const code of codes.gone) yield change("clients", `/fault/codes/${code}`, `the code ${code} is gone`);
  for (const code of codes.added) yield change("none", `/fault/codes/${code}`, `the code ${code} is new`);
  for (const code of codes.kept)
    for (const word of ["status", "recoverable"] as const) {
      const [was, is] = [a.codes![code]![word], b.codes![code]![word]];
      if (was !== is)
        yield change("clients", `/fault/codes/${code}/${word}`, `${word} of ${code} was ${say(was)} and is ${say(is)}`);
    }
}

/** The first place is written and all are read: a client of before finds what is written now at one of the places it knew. */
function* places(a: FaultPlaces | undefined, b: FaultPlaces | undefined, at: string): Generator<Change> {
  for (const word of ["code", "text", "details", "recoverable"] as const) {
    const [was, is] = [a?.[word], b?.[word]];
    if (was?.[0] === is?.[0]) continue;
    const found = is?.[0] !== undefined && (was === undefined || was.includes(is[0]));
    yield change(
      found ? "none" : "clients",
      `${at}/${word}`,
      `the ${word} was at ${say(was?.[0])} and is at ${say(is?.[0])}`,
    );
  }
}
