import type { Reads } from "./contract/check.js";
import type { Contract } from "./contract/contract.js";
import type { AnyMessage, Json } from "./contract/schema.js";
import { misuse } from "./errors.js";
import { valueAt } from "./internal/pointer.js";
import { isObject, type JsonObject } from "./json.js";

/** A message in wire form, before it is encoded as text. */
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

/** The properties that a profile adds to a message. `{ "copyOf": "args" }` is the message's own `args`, omitted when the message has none. */
function filled(added: Readonly<Record<string, Json>>, fields: JsonObject): JsonObject {
  const values = Object.entries(added).map(([key, value]): [string, unknown] => {
    if (!isObject(value)) return [key, value];
    return [
      key,
      typeof value.copyOf === "string"
        ? valueAt(fields, [value.copyOf])
        : filled(value as Record<string, Json>, fields),
    ];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Returns the message name of a frame; any other value means that it is unknown. */
export function namer({ name, tag }: Contract, reads: Reads): (event: string | undefined, body: JsonObject) => unknown {
  if (tag.in === "event") return (event = "message") => event;
  if (tag.in === "property") return (event, body) => valueAt(body, [tag.property]) ?? (tag.event && event);
  const nameOf = reads.name;
  if (!nameOf) throw misuse(`the contract ${name} has no check for names: generate it again`);
  return (_, body) => nameOf(body);
}

/** The inverse of `tag` for frames of one name. It may reuse the body as the message, because the body was just parsed and is not shared. */
export function stripper({ tag, messages }: Contract, name: string): (body: JsonObject, tagged: string) => AnyMessage {
  const constants = tag.in === "property" ? [tag.property] : Object.keys(messages[name]?.shape?.const ?? {});
  const dropped = new Set(["type", ...constants]);
  const isOnlyType = dropped.size === 1;
  const isPrefix = name.endsWith("*");
  return (body, tagged) => {
    // The constant where there is one: a string that was just read may keep the text around it in memory.
    const type = isPrefix ? tagged : name;
    // In place, because a copy costs a tenth of all that a short message costs a client. Behind an event's name, a body may be no object.
    if (isOnlyType && isObject(body)) {
      body.type = type;
      return body as JsonObject & AnyMessage;
    }
    const message: JsonObject & AnyMessage = { type };
    for (const key in body) if (!dropped.has(key)) message[key] = body[key];
    return message;
  };
}

/** Whether a value could be a message at all. */
export function isMessage(value: unknown): value is AnyMessage {
  return isObject(value) && typeof value.type === "string";
}
