import type { Auth, ContractDocument, Exchange, FaultPlaces } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import { channels, operations } from "./compat/calls.js";
import { type Change, either, inContract, match, same, say, type Writers } from "./compat/change.js";
import { methods } from "./compat/methods.js";
import { type Place, titled, type Versions, versionsOf } from "./compat/place.js";
import { schemaChanges } from "./compat/schemas.js";
import { messageOf, tagSchema } from "./prefix.js";
import { namesType } from "./schema.js";
import { subschemas } from "./walk.js";

export type { Breaks, Change, Party } from "./compat/change.js";

const server: Writers = new Set(["server"]);

/**
 * Lists what changed from one version of a contract to the next, whom it breaks, and why. A server adopts the new contract
 * before its clients do: what a client may newly send is safe, and what a server may newly send is not. Prose, examples, new
 * reading tolerances and retries break nobody.
 */
export function compat(old: ContractDocument, now: ContractDocument): Change[] {
  const versions = versionsOf(old, now);
  const changes = [
    ...header(old, now),
    ...operations(versions),
    ...channels(versions),
    ...messages(versions),
    ...exchanges(old, now),
    ...methods(versions),
    ...tolerances(old, now),
    ...faults(versions),
    ...renamed(old, now),
  ];
  return merged(changes).sort(
    (a, b) => compare(a.file, b.file) || compare(a.pointer, b.pointer) || compare(a.what, b.what),
  );
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Merges the changes of a schema used in several places into one, with all parties that it breaks. */
function merged(changes: readonly Change[]): Change[] {
  const found = new Map<string, Change>();
  for (const one of changes) {
    const key = `${one.file}#${one.pointer} ${one.what}`;
    found.set(key, { ...one, ...(found.has(key) && either(found.get(key)!, one)) });
  }
  return [...found.values()];
}

function* header(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const [a, b] = [old.contract, now.contract];
  for (const word of ["format", "name", "session"] as const)
    if (a[word] !== b[word])
      yield inContract(
        word === "format" ? ["client", "server"] : ["source"],
        `/${word}`,
        `${word} was ${say(a[word])} and is ${say(b[word])}`,
      );
  if (old.source.type !== now.source.type)
    yield inContract(["source"], "/type", `type was ${say(old.source.type)} and is ${say(now.source.type)}`);
  if (a.url !== b.url) yield inContract([], "/url", `url was ${say(a.url)} and is ${say(b.url)}`);
  if (!same(a.tag, b.tag)) yield inContract(["client", "server"], "/tag", `tag was ${say(a.tag)} and is ${say(b.tag)}`);
  if (!same(a.auth, b.auth)) yield* credentials(a.auth, b.auth);
}

function* credentials(a: Auth | undefined, b: Auth | undefined): Generator<Change> {
  for (const [word, what] of [
    ["bearer", "the bearer token"],
    ["apiKey", "the API key"],
  ] as const)
    if (a?.[word] !== b?.[word])
      yield inContract(
        b?.[word] === "required" ? ["client"] : [],
        `/auth/${word}`,
        `${what} was ${say(a?.[word])} and is ${say(b?.[word])}`,
      );
  if (a?.header !== undefined && b?.header !== undefined && a.header.toLowerCase() !== b.header.toLowerCase())
    yield inContract(["client"], "/auth/header", `the API key was in ${a.header} and is in ${b.header}`);
}

function* messages(versions: Versions): Generator<Change> {
  const { old, now } = versions;
  const [before, after] = [old.contract.messages, now.contract.messages];
  const { kept } = match(Object.keys(before), Object.keys(after));
  for (const name of kept) {
    const [a, b] = [before[name]!, after[name]!];
    const at = `/messages/${escapeStep(name)}`;
    if (!same(a.shape, b.shape))
      yield inContract(
        ["client", "server"],
        `${at}/shape`,
        `the shape that identifies ${name} was ${say(a.shape)} and is ${say(b.shape)}`,
      );
    if (a.fault || b.fault) yield* places(a.fault, b.fault, `${at}/fault`);
    const writers = new Set([...writersOf(old, name), ...writersOf(now, name)]);
    yield* schemaChanges(versions, titled(versions, "old", a.schema), titled(versions, "now", b.schema), writers);
  }
  yield* taken(versions);
  const order = (document: ContractDocument) =>
    Object.keys(document.contract.messages).filter((name) => kept.includes(name));
  if (now.contract.tag.in === "shape" && !same(order(old), order(now)))
    yield inContract(["client", "server"], "/messages", "the order in which shapes are matched has changed");
}

/** A name that one version has as a message of its own, and the other only as a case of a prefix, is one message with two schemas. */
function* taken(versions: Versions): Generator<Change> {
  const { old, now } = versions;
  const [before, after] = [old.contract.messages, now.contract.messages];
  const { gone, added } = match(Object.keys(before), Object.keys(after));
  for (const name of [...gone, ...added]) {
    const [was, is] = [caseOf(old, name), caseOf(now, name)];
    if (was === undefined || is === undefined) continue;
    const at = `/messages/${escapeStep(is)}`;
    yield inContract(["source"], at, `${name} was read as ${was} and is read as ${is}`);
    const writers = new Set([...writersOf(old, was), ...writersOf(now, is)]);
    const narrowed = (place: Place) => tagged(now, place, name);
    const [a, b] = [titled(versions, "old", before[was]!.schema), titled(versions, "now", after[is]!.schema)];
    yield* schemaChanges(versions, narrowed(a), narrowed(b), writers);
  }
}

/** The schema of a message for one name, or one prefix, of those that it has. */
function tagged({ contract }: ContractDocument, place: Place, name: string): Place {
  if (contract.tag.in !== "property" || typeof place.schema !== "object") return place;
  const properties = { ...(place.schema.properties as object), [contract.tag.property]: tagSchema(contract, name) };
  return { ...place, schema: { ...place.schema, properties } };
}

/** The message that a name, or all names with a prefix, are read as. */
const caseOf = ({ contract }: ContractDocument, name: string) =>
  messageOf(contract, Object.keys(contract.messages), name.replace(/\*$/, ""));

function writersOf({ contract }: ContractDocument, message: string): Writers {
  const streams = Object.values(contract.operations).some(({ answer }) => answer.stream?.messages.includes(message));
  const sides = (["client", "server"] as const).filter((side) =>
    Object.values(contract.channels).some((channel) => channel[side].includes(message)),
  );
  return new Set(streams ? [...sides, "server"] : sides);
}

/** A type is named after its schema's title. A new title changes programs, not the wire. */
function* renamed(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const titles = (document: ContractDocument) => {
    const found = new Map<string, string>();
    for (const [title, file] of Object.entries(document.files))
      for (const { schema, pointer } of subschemas(document.schemas[title]!))
        if (pointer === "" || namesType(schema)) found.set(`${file}#${pointer}`, String(schema.title));
    return found;
  };
  const after = titles(now);
  for (const [place, title] of titles(old)) {
    const name = after.get(place);
    if (name === undefined || name === title) continue;
    const [file, pointer] = place.split("#") as [string, string];
    const what = `the type ${title} was renamed to ${name}`;
    yield { ...inContract(["source"], `${pointer}/title`, what), file };
  }
}

/**
 * The side that answers must understand an ask. Servers adopt a contract first, so an ask of a server that is new breaks clients, which cannot
 * answer it, and one of a client breaks nobody. A method with `needs` is asked only where the other side announces it.
 */
function* exchanges(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const name = ({ ask, by, when }: Exchange) => `${by}'s ask ${ask}${when ? ` when ${JSON.stringify(when)}` : ""}`;
  const list = ({ contract }: ContractDocument) => contract.exchanges ?? [];
  const [before, after] = [list(old).map(name), list(now).map(name)];
  const { kept, gone, added } = match(before, after);
  for (const one of gone) {
    const index = before.indexOf(one);
    const { ask, by } = list(old)[index]!;
    const isLeft = by === "server" || writersOf(now, ask).has(by);
    yield inContract(
      isLeft ? ["client", "server", "source"] : ["client", "source"],
      `/exchanges/${index}`,
      `the ${one} no longer has an answer`,
    );
  }
  for (const one of added) {
    const index = after.indexOf(one);
    const { ask, by } = list(now)[index]!;
    const isSent = writersOf(old, ask).has(by);
    const isAnnounced = !isSent && now.contract.methods?.[ask]?.needs !== undefined;
    yield inContract(
      [...(by === "server" && !isAnnounced ? (["client"] as const) : []), ...(isSent ? (["source"] as const) : [])],
      `/exchanges/${index}`,
      `the ${one} now expects an answer`,
      by === "server" && !isSent && !isAnnounced ? "existing clients do not know it, and cannot answer" : undefined,
    );
  }
  for (const one of kept) {
    const index = after.indexOf(one);
    if (!same(list(old)[before.indexOf(one)], list(now)[index]))
      yield inContract(["client", "server"], `/exchanges/${index}`, `the ${one} has different answers`);
  }
}

function* tolerances(old: ContractDocument, now: ContractDocument): Generator<Change> {
  for (const [index, rule] of (old.contract.reading ?? []).entries())
    if (!now.contract.reading?.some((one) => same(one, rule)))
      yield inContract(
        rule.of === "client" ? ["client"] : ["server"],
        `/reading/${index}`,
        `messages of the ${rule.of} in this form are no longer accepted`,
      );
  const { gone } = match(Object.keys(old.contract.profiles ?? {}), Object.keys(now.contract.profiles ?? {}));
  for (const name of gone)
    yield inContract(["client", "server"], `/profiles/${name}`, `the profile ${name} was removed`);
  const [was, is] = [old.contract.profile, now.contract.profile];
  if (was !== is)
    yield inContract(["client"], "/profile", `the default profile was ${was ?? "none"} and is ${is ?? "none"}`);
}

function* faults(versions: Versions): Generator<Change> {
  const [a, b] = [versions.old.contract.fault, versions.now.contract.fault];
  yield* places(a, b, "/fault");
  yield* schemaChanges(versions, titled(versions, "old", a.schema), titled(versions, "now", b.schema), server);
  const codes = match(Object.keys(a.codes ?? {}), Object.keys(b.codes ?? {}));
  for (const code of codes.gone) yield inContract(["client"], `/fault/codes/${code}`, `the code ${code} was removed`);
  for (const code of codes.added) yield inContract([], `/fault/codes/${code}`, `the code ${code} was added`);
  for (const code of codes.kept)
    for (const word of ["status", "generic", "recoverable"] as const) {
      const [was, is] = [a.codes![code]![word], b.codes![code]![word]];
      if (was !== is)
        yield inContract(
          ["client"],
          `/fault/codes/${code}/${word}`,
          `${word} of ${code} was ${say(was)} and is ${say(is)}`,
        );
    }
}

/** The first place is written and all are read, so old clients need the new first place among theirs. */
function* places(a: FaultPlaces | undefined, b: FaultPlaces | undefined, at: string): Generator<Change> {
  for (const word of ["code", "text", "details", "recoverable"] as const) {
    const [was, is] = [a?.[word], b?.[word]];
    if (was?.[0] === is?.[0]) continue;
    const found = is?.[0] !== undefined && (was === undefined || was.includes(is[0]));
    yield inContract(
      found ? [] : ["client"],
      `${at}/${word}`,
      `the ${word} was at ${say(was?.[0])} and is at ${say(is?.[0])}`,
    );
  }
  if (!same(a?.noDetails, b?.noDetails))
    yield inContract(
      ["client"],
      `${at}/noDetails`,
      `the details of a refusal without any were ${say(a?.noDetails)} and are ${say(b?.noDetails)}`,
    );
}
