import type { Reads } from "./contract/check.js";
import type { Contract } from "./contract/contract.js";
import type { AnyMessage } from "./contract/schema.js";
import { misuse } from "./errors.js";
import { isObject, type JsonObject } from "./json.js";

/** Returns the message name of a frame; any other value means that it is unknown. */
export function namer({ name, tag }: Contract, reads: Reads): (event: string | undefined, body: JsonObject) => unknown {
  if (tag.in === "event") return (event = "message") => event;
  if (tag.in === "property") return (event, body) => body[tag.property] ?? (tag.event && event);
  const nameOf = reads.name;
  if (!nameOf) throw misuse(`the contract ${name} does not tell its messages apart: generate it again`);
  return (_, body) => nameOf(body);
}

/** The inverse of `tag` for frames of one name. It may reuse the body as the message, because the body was just parsed and is not shared. */
export function stripper({ tag, messages }: Contract, name: string): (body: JsonObject) => AnyMessage {
  const constants = tag.in === "property" ? [tag.property] : Object.keys(messages[name]?.shape?.const ?? {});
  const dropped = new Set(["type", ...constants]);
  const isOnlyType = dropped.size === 1;
  return (body) => {
    // In place, because a copy costs a tenth of all that a short message costs a client. Behind an event's name, a body may be no object.
    if (isOnlyType && isObject(body)) {
      body.type = name;
      return body as JsonObject & AnyMessage;
    }
    const message: JsonObject & AnyMessage = { type: name };
    for (const key in body) if (!dropped.has(key)) message[key] = body[key];
    return message;
  };
}

/** Whether a value could be a message at all. */
export function isMessage(value: unknown): value is AnyMessage {
  return isObject(value) && typeof value.type === "string";
}
