import type { RowAsk } from "../row.js";
import { choicesOf, initial, type Node, resolve } from "../schema.js";
import type { PageContract } from "../state.js";

/** A button of a waiting ask: what it sends. */
export interface Answer {
  readonly label: string;
  /** The operation that answers, with its parameters; or the message on the channel. */
  readonly operation?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** The most values of one property that become buttons. */
const MAX_CHOICES = 6;

/**
 * The ways to answer an ask: one button for each value of the property that decides. A message answers on a channel only; of an ask on a
 * stream, only operations do.
 */
export function answersOf(
  contract: PageContract,
  ask: RowAsk,
  session: string | undefined,
  call: string | undefined,
): Answer[] {
  const { client = [] } = contract.channels[call ?? ""] ?? {};
  const exchange = contract.exchanges?.find((one) => one.ask === ask.ask && one.by === ask.by);
  return (exchange?.answers ?? []).flatMap(({ message, operation, key: own }) => {
    const key = exchange!.key === undefined ? undefined : (own ?? exchange!.key);
    const known = { ...(key !== undefined && { [key]: ask.key }) };
    if (operation !== undefined) return operationAnswers(contract, operation, known, session);
    if (message === undefined || !client.includes(message)) return [];
    const title = contract.messages[message]!.schema;
    const { tag } = contract;
    const tagged = tag.in === "property" ? { [tag.property]: message } : {};
    return choices(contract, title, key).map(({ words, value }) => ({
      label: `${message}${words}`,
      body: { ...(initial(contract.schemas, contract.schemas[title]) as object), ...tagged, ...known, ...value },
    }));
  });
}

function operationAnswers(
  contract: PageContract,
  name: string,
  known: Readonly<Record<string, unknown>>,
  session: string | undefined,
): Answer[] {
  const { parameters = {}, body, when } = contract.operations[name]!;
  const own = contract.session !== undefined && session !== undefined ? { [contract.session]: session } : {};
  const all: Record<string, unknown> = { ...own, ...known };
  const texts = Object.keys(parameters).flatMap((key) => (key in all ? [[key, String(all[key])] as const] : []));
  const inBody = Object.fromEntries(Object.entries(all).filter(([key]) => !(key in parameters)));
  const keys = Object.keys(all);
  const made = body === undefined ? [{ words: "", value: {} }] : choices(contract, body, keys[keys.length - 1]);
  return made.map(({ words, value }) => ({
    label: `${name}${words}`,
    operation: name,
    parameters: Object.fromEntries(texts),
    ...(body !== undefined && {
      body: { ...(initial(contract.schemas, contract.schemas[body]) as object), ...when, ...inBody, ...value },
    }),
  }));
}

/** The values of the first required property that has few of them. */
function choices({ schemas }: PageContract, title: string, key: string | undefined) {
  const file = schemas[title]!;
  const { properties = {}, required = [] } = resolve(schemas, file, file) as {
    readonly properties?: Readonly<Record<string, Node>>;
    readonly required?: readonly string[];
  };
  for (const name of required) {
    const schema = resolve(schemas, properties[name], file);
    const values = schema.type === "boolean" ? [true, false] : choicesOf(schema);
    if (name === key || !values || values.length < 2 || values.length > MAX_CHOICES) continue;
    return values.map((value) => ({ words: `: ${name} ${JSON.stringify(value)}`, value: { [name]: value } }));
  }
  return [{ words: "", value: {} }];
}
