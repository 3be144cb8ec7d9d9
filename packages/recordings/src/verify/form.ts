import { type AnyContract, inputName, isObject, type Reads } from "@parlance/wire";
import { nameIn } from "@parlance/wire/message-decoder";

/** The most places that a finding names. */
const MAX_PLACES = 5;

/** A message with its SSE event name, or a part of an operation's call; `input` is the flat input of a request. */
export type Part =
  | { readonly event?: string | undefined }
  | {
      readonly operation: string;
      readonly part: "request" | "answer";
      readonly input?: Readonly<Record<string, unknown>> | undefined;
    };

/**
 * How a message or body was brought to its documented form by the contract's reading rules, such as "`assistant.message_delta` is read as
 * `assistant.token`", or what its schema tolerates; undefined where it was written in that form.
 */
export function rereadingOf(
  contract: AnyContract,
  { message, operations, name, tolerant }: Reads,
  value: unknown,
  of: Part,
): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { tag } = contract;
  const read = "part" in of ? operations?.[of.operation] : message;
  const documented = read ? read(structuredClone(value)) : value;
  const nameOf = (body: unknown): unknown => {
    if ("part" in of || tag.in === "event") return "event" in of ? of.event : undefined;
    if (!isObject(body)) return undefined;
    return tag.in === "property" ? (body[tag.property] ?? (tag.event && of.event)) : (name?.(body) ?? body.type);
  };
  const [written, known] = [nameOf(value), nameOf(documented)];
  if (!("part" in of) && written !== known)
    return `${written === undefined ? "a message without a name" : `\`${String(written)}\``} is read as \`${String(known)}\``;
  const what = "part" in of ? `the ${of.part} of ${of.operation}` : `\`${String(known)}\``;
  const ruled = placesOf(changesIn(value, documented));
  if (ruled !== undefined) return `${what} is read by a rule at ${ruled}`;
  const { title, whole } = formOf(contract, documented, known, of);
  const tolerated = structuredClone(whole);
  const isRead = title !== undefined && tolerant?.[title]?.(tolerated);
  const places = isRead ? placesOf(changesIn(whole, tolerated)) : undefined;
  return places === undefined ? undefined : `${what} has an error that its schema tolerates, at ${places}`;
}

/** The schema by which a value is read, and the value in the form of that schema. */
function formOf(contract: AnyContract, value: unknown, name: unknown, of: Part) {
  const { messages, operations } = contract;
  if (!("part" in of)) return { title: messages[nameIn(contract, String(name))]?.schema, whole: value };
  const { answer, when = {} } = operations[of.operation]!;
  if (of.part === "answer") return { title: answer.json, whole: value };
  const fields = Object.entries({ ...of.input, ...(value as object) }).filter(([key]) => !Object.hasOwn(when, key));
  return { title: inputName(of.operation), whole: Object.fromEntries(fields) };
}

function placesOf(changes: readonly string[]): string | undefined {
  const places = [...new Set(changes)];
  const more = places.length > MAX_PLACES ? ", …" : "";
  return places.length === 0 ? undefined : `${places.slice(0, MAX_PLACES).join(", ")}${more}`;
}

/** The places where two values differ, with `*` for the index of an item. */
export function changesIn(before: unknown, after: unknown, at = ""): string[] {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((one, index) => changesIn(one, after[index], `${at}/*`));
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) =>
      Object.hasOwn(before, key) && Object.hasOwn(after, key)
        ? changesIn(before[key], after[key], `${at}/${key}`)
        : [`${at}/${key}`],
    );
  }
  return Object.is(before, after) ? [] : [at || "/"];
}
