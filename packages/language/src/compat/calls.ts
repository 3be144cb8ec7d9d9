import type { ChannelContract as Channel, ContractDocument, Operation, Stream } from "@parlance/wire";
import { messageOf } from "../prefix.js";
import { type Change, inContract, match, same, say } from "./change.js";
import { headersOf, inputOf, titled, type Versions } from "./place.js";
import { schemaChanges } from "./schemas.js";

const server = new Set(["server"] as const);

export function* operations(versions: Versions): Generator<Change> {
  const [before, after] = [versions.old.contract.operations, versions.now.contract.operations];
  const { pairs, gone, added } = paired(before, after);
  for (const name of gone)
    yield inContract(["client", "source"], `/operations/${name}`, `the operation ${name} was removed`);
  for (const name of added) yield inContract([], `/operations/${name}`, `the operation ${name} was added`);
  for (const [was, name] of pairs) {
    const [a, b] = [before[was]!, after[name]!];
    const at = `/operations/${name}`;
    if (was !== name) yield inContract(["source"], at, `the operation ${was} was renamed to ${name}`);
    if (a.method !== b.method)
      yield inContract(["client"], `${at}/method`, `${name} was ${a.method} and is ${b.method}`);
    yield* paths(a, b, at);
    if (!same(a.when, b.when))
      yield inContract(["client"], `${at}/when`, `when was ${say(a.when)} and is ${say(b.when)}`);
    if (a.answer.status !== b.answer.status)
      yield inContract(
        ["client"],
        `${at}/answer/status`,
        `the status was ${a.answer.status} and is ${b.answer.status}`,
      );
    yield* nothing(a.answer.none, b.answer.none, `${at}/answer/none`);
    yield* inputs(versions, [was, name], [a, b], at);
    const taken = (one: Operation) => one.binary ?? (one.body === undefined ? "empty" : "JSON");
    if (taken(a) !== taken(b) && (a.binary ?? b.binary) !== undefined)
      yield inContract(
        a.binary && b.binary ? ["client"] : ["client", "source"],
        `${at}/binary`,
        `the body was ${taken(a)} and is ${taken(b)}`,
      );
    const kind = ({ answer }: Operation) =>
      ["json", "text", "binary", "stream"].find((one) => one in answer) ?? "empty";
    if (kind(a) !== kind(b))
      yield inContract(["client", "server", "source"], `${at}/answer`, `the answer was ${kind(a)} and is ${kind(b)}`);
    else if (a.answer.json)
      yield* schemaChanges(
        versions,
        titled(versions, "old", a.answer.json),
        titled(versions, "now", b.answer.json!),
        server,
      );
    else if (a.answer.stream) yield* stream(versions, a.answer.stream, b.answer.stream!, `${at}/answer/stream`);
    else if (a.answer.text !== b.answer.text)
      yield inContract(
        ["client"],
        `${at}/answer/text`,
        `the content type was ${a.answer.text} and is ${b.answer.text}`,
      );
    else if (a.answer.binary !== b.answer.binary)
      yield inContract(
        ["client"],
        `${at}/answer/binary`,
        `the content type was ${a.answer.binary} and is ${b.answer.binary}`,
      );
    yield* answerHeaders(versions, [was, name], `${at}/answer/headers`);
    const statuses = match(Object.keys(a.faults ?? {}), Object.keys(b.faults ?? {}));
    for (const status of statuses.gone)
      yield inContract([], `${at}/faults/${status}`, `the status ${status} was removed`);
    for (const status of statuses.added)
      yield inContract([], `${at}/faults/${status}`, `the status ${status} was added`);
    for (const status of statuses.kept)
      if (!same(a.faults![status], b.faults![status]))
        yield inContract(
          ["client"],
          `${at}/faults/${status}`,
          `the body of ${status} was ${form(a, status)} and is ${form(b, status)}`,
        );
  }
}

/** An answer without a body: a new one is unknown to older clients, and changes what a call returns. */
function* nothing(was: number | undefined, is: number | undefined, at: string): Generator<Change> {
  if (was === is) return;
  if (is === undefined) yield inContract(["source"], at, `the answer ${was} with no body was removed`);
  else if (was === undefined) yield inContract(["client", "source"], at, `the answer ${is} with no body was added`);
  else yield inContract(["client", "source"], at, `the status of an answer with no body was ${was} and is ${is}`);
}

/** What a server writes beside the body. The first header, and the last, change what a call returns. */
function* answerHeaders(versions: Versions, [was, is]: readonly [string, string], at: string): Generator<Change> {
  const [before, after] = [headersOf(versions, "old", was), headersOf(versions, "now", is)];
  if (!before !== !after)
    yield inContract(
      ["source"],
      at,
      after ? "a call now returns { headers, body }" : "a call now returns the body without headers",
    );
  if (!before) return;
  const none = { type: "object", properties: {}, required: [] };
  yield* schemaChanges(versions, before, after ?? { ...before, age: "now", schema: none }, server);
}

const form = ({ faults }: Operation, status: string) => (faults?.[status]?.text ? "text" : "JSON");

export function* channels(versions: Versions): Generator<Change> {
  const [before, after] = [versions.old.contract.channels, versions.now.contract.channels];
  const { pairs, gone, added } = paired(before, after);
  for (const name of gone)
    yield inContract(["client", "source"], `/channels/${name}`, `the channel ${name} was removed`);
  for (const name of added) yield inContract([], `/channels/${name}`, `the channel ${name} was added`);
  for (const [was, name] of pairs) {
    const [a, b] = [before[was]!, after[name]!];
    const at = `/channels/${name}`;
    if (was !== name) yield inContract(["source"], at, `the channel ${was} was renamed to ${name}`);
    yield* paths(a, b, at);
    yield* inputs(versions, [was, name], [a, b], at);
    for (const side of ["client", "server"] as const) {
      yield* said(versions.now, a[side], b[side], `${at}/${side}`, side);
      if (a.open?.[side] !== b.open?.[side])
        yield inContract(
          ["client"],
          `${at}/open/${side}`,
          `the ${side}'s first message was ${say(a.open?.[side])} and is ${say(b.open?.[side])}`,
        );
    }
    if (a.cancel !== b.cancel)
      yield inContract(
        ["client"],
        `${at}/cancel`,
        `the message after which the server may drop the connection was ${say(a.cancel)} and is ${say(b.cancel)}`,
      );
    yield* readings(a, b, at);
  }
}

/** A path without the names of its parameters, which are not on the wire. */
const nameless = (path: string) => path.replace(/\{[^}]*\}/g, "{}");
const parametersOf = (path: string) => [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name!);

function* paths(a: Operation | Channel, b: Operation | Channel, at: string): Generator<Change> {
  const all = ({ path, alsoAt = [] }: Operation | Channel) =>
    new Map([path, ...alsoAt].map((one) => [nameless(one), one]));
  const [before, after] = [all(a), all(b)];
  const places = match(before.keys(), after.keys());
  for (const path of places.gone)
    yield inContract(["client"], `${at}/path`, `the path ${before.get(path)} was removed; the path is now ${b.path}`);
  for (const path of places.added) yield inContract([], `${at}/path`, `the path ${after.get(path)} was added`);
}

/** The new names of path parameters. */
function renamedIn(a: Operation | Channel, b: Operation | Channel): Map<string, string> {
  if (nameless(a.path) !== nameless(b.path)) return new Map();
  const names = parametersOf(b.path);
  return new Map(
    parametersOf(a.path).flatMap((was, index) => (was === names[index] ? [] : [[was, names[index]!] as const])),
  );
}

/** Matches calls by name, and the rest by route: those were renamed. */
function paired<C extends Operation | Channel>(
  before: Readonly<Record<string, C>>,
  after: Readonly<Record<string, C>>,
) {
  const { kept, gone, added } = match(Object.keys(before), Object.keys(after));
  const pairs = kept.map((name): [string, string] => [name, name]);
  const route = (call: C) =>
    JSON.stringify([nameless(call.path), "method" in call && call.method, "when" in call && call.when]);
  for (const was of gone) {
    const name = added.find((one) => route(after[one]!) === route(before[was]!));
    if (name !== undefined && !pairs.some(([, taken]) => taken === name)) pairs.push([was, name]);
  }
  return {
    pairs,
    gone: gone.filter((name) => !pairs.some(([was]) => was === name)),
    added: added.filter((name) => !pairs.some(([, is]) => is === name)),
  };
}

/** The flat input, and where each name travels. */
function* inputs(
  versions: Versions,
  [was, is]: readonly [string, string],
  [a, b]: readonly [Operation | Channel, Operation | Channel],
  at: string,
): Generator<Change> {
  const renamed = renamedIn(a, b);
  for (const [from, to] of renamed)
    yield inContract(["source"], `${at}/parameters`, `the path parameter ${from} was renamed to ${to}`);
  const [before, after] = [inputOf(versions, "old", was, renamed), inputOf(versions, "now", is)];
  yield* schemaChanges(versions, before, after, new Set(["client"]));
  const keys = ({ schema }: typeof before) => Object.keys((schema as { properties: object }).properties);
  const original = new Map([...renamed].map(([from, to]) => [to, from]));
  for (const key of match(keys(before), keys(after)).kept) {
    const [from, to] = [a.parameters?.[original.get(key) ?? key]?.in ?? "body", b.parameters?.[key]?.in ?? "body"];
    if (from !== to) yield inContract(["client"], `${at}/parameters`, `${key} was in the ${from} and is in the ${to}`);
  }
}

function* stream({ now }: Versions, a: Stream, b: Stream, at: string): Generator<Change> {
  yield* said(now, a.messages, b.messages, `${at}/messages`, "server");
  for (const word of ["end", "mayEnd"] as const) {
    const { gone, added } = match(a[word] ?? [], b[word] ?? []);
    for (const name of gone) yield inContract(["client"], `${at}/${word}`, `${name} no longer ends the stream`);
    for (const name of added) yield inContract(["client"], `${at}/${word}`, `${name} now ends the stream`);
  }
  if (a.sentinel !== b.sentinel)
    yield inContract(
      ["client"],
      `${at}/sentinel`,
      `the event that ends the stream was ${say(a.sentinel)} and is ${say(b.sentinel)}`,
    );
  if (!same(a.rejoin, b.rejoin))
    yield inContract(
      a.rejoin === undefined ? [] : ["client"],
      `${at}/rejoin`,
      `how a cut stream is joined again was ${say(a.rejoin)} and is ${say(b.rejoin)}`,
    );
  if (a.lines !== b.lines)
    yield inContract(["client"], `${at}/lines`, `the stream was ${framing(a)} and is ${framing(b)}`);
  yield* readings(a, b, at);
}

const framing = ({ lines }: Stream): string => (lines === undefined ? "text/event-stream" : `lines of ${lines}`);

/** How a client interprets the messages: which one is the failure, where the text is, and what ends them all. */
function* readings(a: Stream | Channel, b: Stream | Channel, at: string): Generator<Change> {
  if (a.closedBy !== b.closedBy)
    yield inContract(
      ["client"],
      `${at}/closedBy`,
      `the ${"path" in a ? "channel" : "stream"} was closed by ${say(a.closedBy)} and is closed by ${say(b.closedBy)}`,
    );
  for (const word of ["fault", "text"] as const)
    if (!same(a[word], b[word]))
      yield inContract(
        a[word] === undefined ? [] : ["client"],
        `${at}/${word}`,
        `${word} was ${say(a[word])} and is ${say(b[word])}`,
      );
}

/** Readers skip unknown messages, so a new one is safe. A removed one breaks clients that send or await it. */
function* said(
  { contract }: ContractDocument,
  before: readonly string[],
  after: readonly string[],
  at: string,
  side: string,
): Generator<Change> {
  const { gone, added } = match(before, after);
  // A message that a prefix now stands for is still read, as that one: `messages` compares the two.
  for (const name of gone.filter((one) => messageOf(contract, after, one.replace(/\*$/, "")) === undefined))
    yield inContract(["client", "source"], at, `the ${side}'s message ${name} was removed`);
  for (const name of added) yield inContract([], at, `the ${side}'s message ${name} was added`);
}
