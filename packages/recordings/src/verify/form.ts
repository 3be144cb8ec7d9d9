import { type Contract, isObject, type Reads } from "@parlance/wire";

/** The most places that a finding names. */
const MAX_PLACES = 5;

/**
 * How a message or body was brought to its documented form by the contract's reading rules, such as "`assistant.message_delta` is read as
 * `assistant.token`"; undefined where it was written in that form.
 */
export function rereadingOf(
  { tag }: Pick<Contract, "tag">,
  { message, operations, name }: Reads,
  value: unknown,
  {
    event,
    operation,
    part = "",
  }: { readonly event?: string | undefined; readonly operation?: string; readonly part?: string },
): string | undefined {
  const read = operation === undefined ? message : operations?.[operation];
  if (!read || typeof value !== "object" || value === null) return undefined;
  const documented = read(structuredClone(value));
  const places = [...new Set(changesIn(value, documented))];
  if (places.length === 0) return undefined;
  const nameOf = (body: unknown): unknown => {
    if (tag.in === "event") return event;
    if (!isObject(body)) return undefined;
    return tag.in === "property" ? (body[tag.property] ?? (tag.event && event)) : (name?.(body) ?? body.type);
  };
  const [written, known] = [nameOf(value), nameOf(documented)];
  if (operation === undefined && written !== known)
    return `${written === undefined ? "a message without a name" : `\`${String(written)}\``} is read as \`${String(known)}\``;
  const more = places.length > MAX_PLACES ? ", …" : "";
  const what = operation === undefined ? `\`${String(known)}\`` : `the ${part} of ${operation}`;
  return `${what} is read by a rule at ${places.slice(0, MAX_PLACES).join(", ")}${more}`;
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
