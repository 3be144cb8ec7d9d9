import { keyPath, parsePointer, valueAt, withValue } from "@parlance/wire/internal/pointer";
import type { Answer } from "../ask.js";
import type { RowAsk } from "../row.js";
import { choicesOf, type Node, resolve } from "../schema.js";

import type { PageContract } from "../state.js";
import { valuesOf } from "./values.js";

type Fields = Readonly<Record<string, unknown>>;

/** An ask in its conversation. */
export interface AskedIn {
  readonly ask: RowAsk;
  readonly message: Fields;
  /** The operation or channel that asks. */
  readonly call: string | undefined;
  readonly session: string | undefined;
  /** Parameters and body of the call. */
  readonly input: Fields;
}

/** Names the properties that an answer lacks by the checks of the contract, which also know conditional ones. */
export type Lacking = (answer: Omit<Answer, "missing">, call: string) => readonly string[];

/** The most buttons of one answer. */
const MAX_CHOICES = 6;

/** The placeholder of a secret, which is not a value to send. */
const REDACTED = /__redacted_\d+__/;

/**
 * The ways to answer an ask: a button for each combination of the values to decide about. Keys, ids and other required values are those of
 * the ask, its session and its call; examples and defaults of a schema are of another conversation. A message answers on a channel only;
 * an ask on a stream is answered by operations.
 */
export function answersOf(contract: PageContract, asked: AskedIn, lacking: Lacking): Answer[] {
  const { ask, message: question, call = "", session, input } = asked;
  const { client = [] } = contract.channels[call] ?? {};
  const exchange = contract.exchanges?.find((one) => one.ask === ask.ask && one.by === ask.by);
  return (exchange?.answers ?? []).flatMap(({ message, operation, key: own, whole = [] }) => {
    const key = exchange!.key === undefined ? undefined : (own ?? exchange!.key);
    const given: Fields = {
      ...(contract.session !== undefined && session !== undefined && { [contract.session]: session }),
      ...(key !== undefined && withValue({}, keyPath(key), ask.key)),
    };
    const same = whole.map((one) => mapped(one.same ?? {}, (pointer) => valueAt(question, parsePointer(pointer))));
    const find = finder([given, question, ...same, input]);
    const made =
      operation !== undefined
        ? operationAnswers(contract, operation, given, find)
        : message !== undefined && client.includes(message)
          ? withResults(contract, ask.ask, messageAnswers(contract, message, given), question)
          : [];
    return made.map((answer) => completed(contract, answer, find, (one) => lacking(one, call)));
  });
}

type Find = (name: string) => unknown;

/** Finds a value by its name. The first source that has it wins. */
function finder(sources: readonly Fields[]): Find {
  return (name) => {
    const source = sources.find((one) => Object.hasOwn(one, name) && one[name] !== undefined && one[name] !== "");
    const value = source?.[name];
    return REDACTED.test(JSON.stringify(value) ?? "") ? undefined : value;
  };
}

type Draft = Omit<Answer, "missing">;

function messageAnswers({ messages, schemas, tag }: PageContract, message: string, given: Fields): Draft[] {
  const title = messages[message]!.schema;
  const tagged = tag.in === "property" ? { [tag.property]: message } : {};
  const fits = withoutUnknown(schemas, title, given);
  return decisions(schemas, title, given).map(({ words, value }) => ({
    label: `${message}${words}`,
    message,
    body: { ...constantsOf(schemas, title), ...tagged, ...fits, ...value },
  }));
}

/** A result is of the request's method: a button for each value that the schema and the question allow, if they allow few. */
function withResults({ methods, schemas }: PageContract, ask: string, drafts: Draft[], question: Fields): Draft[] {
  const title = methods?.[ask]?.result;
  return drafts.flatMap((draft) => {
    if (title === undefined || draft.message !== "rpc.result") return [draft];
    const values = valuesOf(schemas, title, question);
    if (values.length === 0 || values.length > MAX_CHOICES) return [draft];
    return values.map(({ words, value }) => ({
      ...draft,
      label: `${draft.label}${words.length > 0 ? `: ${words.join(", ")}` : ""}`,
      body: { ...draft.body, result: value },
    }));
  });
}

function operationAnswers({ operations, schemas }: PageContract, name: string, given: Fields, find: Find): Draft[] {
  const { parameters: places = {}, body, when } = operations[name]!;
  const needed = Object.entries(places).filter(
    ([key, place]) => place.in === "path" || place.required || Object.hasOwn(given, key),
  );
  const found = needed.map(([key]) => [key, find(key)] as const).filter(([, value]) => value !== undefined);
  const parameters = Object.fromEntries(found.map(([key, value]) => [key, String(value)]));
  if (body === undefined) return [{ label: name, operation: name, parameters }];
  const rest = Object.fromEntries(Object.entries(given).filter(([key]) => !Object.hasOwn(places, key)));
  const fits = withoutUnknown(schemas, body, rest);
  return decisions(schemas, body, given).map(({ words, value }) => ({
    label: `${name}${words}`,
    operation: name,
    parameters,
    body: { ...constantsOf(schemas, body), ...when, ...fits, ...value },
  }));
}

/** Adds the required values that the conversation has, and names the others. */
function completed(
  contract: PageContract,
  draft: Draft,
  find: Find,
  lacking: (draft: Draft) => readonly string[],
): Answer {
  const { parameters: places = {}, body: bodyTitle } = contract.operations[draft.operation ?? ""] ?? {};
  const title = draft.message === undefined ? bodyTitle : contract.messages[draft.message]!.schema;
  const absent = Object.entries(places)
    .filter(([key, { in: place, required }]) => (place === "path" || required) && !draft.parameters?.[key])
    .map(([key]) => key);
  if (title === undefined || !draft.body) return { ...draft, missing: absent };
  let answer: Draft = draft;
  const fill = (names: readonly string[]): string[] =>
    names.filter((name) => {
      if (Object.hasOwn(answer.body!, name)) return false;
      const value = find(name);
      if (value !== undefined) answer = { ...answer, body: { ...answer.body, [name]: value } };
      return value === undefined;
    });
  const unknown = fill(propertiesOf(contract.schemas, title).required);
  // Conditional properties are required once the others are there.
  const conditional = absent.length > 0 ? [] : fill(lacking(answer));
  return { ...answer, missing: [...new Set([...absent, ...unknown, ...conditional])] };
}

type Schemas = PageContract["schemas"];

interface Properties {
  readonly properties: Readonly<Record<string, Node>>;
  readonly required: readonly string[];
}

function propertiesOf(schemas: Schemas, title: string): Properties {
  const { properties = {}, required = [] } = resolve(schemas, schemas[title], schemas[title]) as Partial<Properties>;
  return { properties, required };
}

/** The values that every message of a schema has. */
function constantsOf(schemas: Schemas, title: string): Fields {
  const { properties, required } = propertiesOf(schemas, title);
  const constants = required.map((name) => [name, resolve(schemas, properties[name], schemas[title]).const] as const);
  return Object.fromEntries(constants.filter(([, value]) => value !== undefined));
}

/** Leaves out values that the schema has no property for: a session may be in the path alone. */
function withoutUnknown(schemas: Schemas, title: string, given: Fields): Fields {
  const { properties } = propertiesOf(schemas, title);
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(properties, name)));
}

interface Decision {
  readonly words: string;
  readonly value: Fields;
}

/** The combinations of the required properties that have few values, which only a person can choose. */
function decisions(schemas: Schemas, title: string, given: Fields): Decision[] {
  const { properties, required } = propertiesOf(schemas, title);
  let made: Decision[] = [{ words: "", value: {} }];
  for (const name of required) {
    const schema = resolve(schemas, properties[name], schemas[title]);
    const values = schema.type === "boolean" ? [true, false] : choicesOf(schema);
    if (Object.hasOwn(given, name) || !values || values.length < 2) continue;
    if (made.length * values.length > MAX_CHOICES) continue;
    made = made.flatMap(({ words, value }) =>
      values.map((one) => ({
        words: `${words}${words ? "," : ":"} ${name} ${JSON.stringify(one)}`,
        value: { ...value, [name]: one },
      })),
    );
  }
  return made;
}

function mapped<T>(record: Readonly<Record<string, string>>, map: (value: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}
