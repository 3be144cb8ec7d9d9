import type { Contract } from "./contract/contract.js";
import type { AnyMessage, Json } from "./contract/schema.js";
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
      typeof value.copyOf === "string" ? fields[value.copyOf] : filled(value as Record<string, Json>, fields),
    ];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

export { namer } from "./untag.js";
