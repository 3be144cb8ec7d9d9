import type { Contract, Json } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import { isObject, type JsonObject } from "./json.js";

/** A message on the wire, before it is text. */
export interface Frame {
  /** The SSE event name, where the tag or the peer has one. */
  readonly event?: string | undefined;
  readonly body: JsonObject;
}

/** Turns `type` into the contract's tag. With a profile, the contract's own or this one, writes the superset that the profile names. */
export function tag(contract: Contract, message: AnyMessage, profile = contract.profile): Frame {
  const { type, ...fields } = message as { type: string } & JsonObject;
  const added = profile === undefined ? undefined : contract.profiles?.[profile]?.[type];
  const extra = added && filled(added, fields);
  switch (contract.tag.in) {
    case "event":
      return { event: type, body: extra ? { ...fields, ...extra } : fields };
    case "property": {
      const body = { [contract.tag.property]: type, ...fields, ...extra };
      return contract.tag.event ? { event: type, body } : { body };
    }
    case "shape":
      return { body: { ...extra, ...contract.messages[type]?.shape?.const, ...fields } };
  }
}

/** What a profile adds to a message. `{ "copyOf": "args" }` is the message's own `args`, left out where the message has none. */
function filled(added: Readonly<Record<string, Json>>, fields: JsonObject): JsonObject {
  const values = Object.entries(added).map(([key, value]): [string, unknown] => {
    if (!isObject(value)) return [key, value];
    return [
      key,
      typeof value.copyOf === "string" ? fields[value.copyOf] : filled(value as Record<string, Json>, fields),
    ];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/**
 * The inverse of `tag`, compiled for the messages of one stream or channel. Undefined where a frame fits none of `names`. The body itself
 * may become the message: it has just been parsed and nobody else holds it.
 */
export function untagger(contract: Contract, names: readonly string[]): (frame: Frame) => AnyMessage | undefined {
  const nameOf = namer(contract, names);
  const strips = new Map(names.map((name) => [name, stripper(contract, name)]));
  return ({ event, body }) => strips.get(nameOf(event, body) as string)?.(body);
}

/** Names a frame: any value but one of `names` where it is unknown. */
export function namer(
  { tag, messages }: Contract,
  names: readonly string[],
): (event: string | undefined, body: JsonObject) => unknown {
  if (tag.in === "event") return (event = "message") => event;
  if (tag.in === "property") return (event, body) => body[tag.property] ?? (tag.event && event);
  const shapes = names.map((name) => {
    const { const: constants = {}, required = [], forbidden = [] } = messages[name]!.shape ?? {};
    return { name, constants, entries: Object.entries(constants), required, forbidden };
  });
  // The property that tells the most shapes apart leads to the few that are left to try.
  const valuesOf = (key: string) => [...new Set<unknown>(shapes.map(({ constants }) => constants[key]))];
  const keys = shapes.flatMap(({ constants }) => Object.keys(constants));
  const key = keys.sort((a, b) => valuesOf(b).length - valuesOf(a).length)[0]!;
  const byValue = new Map(
    [undefined, ...valuesOf(key)].map((value) => [
      value,
      shapes.filter(({ constants }) => constants[key] === undefined || constants[key] === value),
    ]),
  );
  return (_, body) =>
    (byValue.get(body[key]) ?? byValue.get(undefined)!).find(
      ({ entries, required, forbidden }) =>
        entries.every(([key, value]) => body[key] === value) &&
        required.every((key) => Object.hasOwn(body, key)) &&
        !forbidden.some((key) => Object.hasOwn(body, key)),
    )?.name;
}

/** Takes the tag off a frame of this name. */
export function stripper({ tag, messages }: Contract, name: string): (body: JsonObject) => AnyMessage {
  const constants = tag.in === "property" ? [tag.property] : Object.keys(messages[name]?.shape?.const ?? {});
  const dropped = constants.filter((key) => key !== "type");
  return (body) => {
    let message = body;
    if (dropped.length > 0) {
      message = {};
      for (const key in body) if (!dropped.includes(key)) message[key] = body[key];
    }
    message.type = name;
    return message as JsonObject & AnyMessage;
  };
}

/** Whether a value could be a message at all. */
export function isMessage(value: unknown): value is AnyMessage {
  return isObject(value) && typeof value.type === "string";
}
