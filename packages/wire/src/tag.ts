import type { Contract, Json, Message } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import { isObject, type JsonObject } from "./json.js";
import { matches } from "./reading.js";

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
 * Turns the tag into `type`. Undefined where the frame fits none of `names`. With an event or property tag the body itself
 * becomes the message: it has just been parsed and nobody else holds it.
 */
export function untag(contract: Contract, names: readonly string[], { event, body }: Frame): AnyMessage | undefined {
  const name = nameOf(contract, names, event, body);
  return name === undefined ? undefined : strip(contract, name, body);
}

/** Takes the tag off a frame whose name is known. */
export function strip(contract: Contract, name: string, body: JsonObject): AnyMessage {
  const drop = contract.tag.in === "shape" ? contract.messages[name]?.shape?.const : undefined;
  if (drop) return { ...without(body, drop), type: name };
  if (contract.tag.in === "property" && contract.tag.property !== "type") delete body[contract.tag.property];
  body.type = name;
  return body as JsonObject & AnyMessage;
}

/** The name alone: which message a frame is, before its tag is taken off. */
export function nameOf(
  contract: Contract,
  names: readonly string[],
  event: string | undefined,
  body: JsonObject,
): string | undefined {
  const { tag } = contract;
  if (tag.in === "shape") return names.find((name) => fits(contract.messages[name]!, body));
  const said = tag.in === "event" ? (event ?? "message") : (body[tag.property] ?? (tag.event ? event : undefined));
  return typeof said === "string" && names.includes(said) ? said : undefined;
}

function fits({ shape = {} }: Message, body: JsonObject): boolean {
  return (
    matches(body, shape.const ?? {}) &&
    (shape.required ?? []).every((key) => Object.hasOwn(body, key)) &&
    !(shape.forbidden ?? []).some((key) => Object.hasOwn(body, key))
  );
}

function without(body: JsonObject, constants: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !Object.hasOwn(constants, key)));
}

/** Whether a value could be a message at all. */
export function isMessage(value: unknown): value is AnyMessage {
  return isObject(value) && typeof value.type === "string";
}
