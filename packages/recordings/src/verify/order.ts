import type { AnyContract, AnyMessage, Side } from "@parlance/wire";
import { type Entry, isEventStream } from "../recording.js";
import type { Find, Open } from "./finding.js";

/** Checks the place of a message on its stream or channel, and notes whether it ends it. */
export function checkOrder(contract: AnyContract, open: Open, from: Side, message: AnyMessage, find: Find): void {
  const name = open.asked!.name;
  const channel = contract.channels[name];
  const opening = channel?.open?.[from];
  const isFirst = open.sent[from] === 1;
  // A server that refuses to open says so first; a channel that is joined again has been opened before.
  if (isFirst && opening !== undefined && ![opening, channel?.fault].includes(message.type) && !open.rejoined)
    find("order", `${name} is opened by ${opening}, not by ${message.type}`);
  const stream = contract.operations[name]?.answer.stream;
  open.last = message.type;
  if (stream?.end?.includes(message.type)) open.ended = "message";
  if (stream?.mayEnd?.includes(message.type)) open.ended = "perhaps";
  else if (open.ended === "perhaps") delete open.ended;
}

/** Checks that an event has the name of its message, where the contract says that events have both. */
export function checkEventName(
  { tag }: AnyContract,
  { event, text }: Extract<Entry, { kind: "event" }>,
  type: string,
  find: Find,
): void {
  if (tag.in !== "property" || !tag.event || event === type) return;
  // A message may be read under another name than it was sent with.
  const { [tag.property]: sent = type } = JSON.parse(text!) as Readonly<Record<string, unknown>>;
  if (event === sent) return;
  const has = event === undefined ? "no name" : `the name ${event}`;
  find("schema", `server: the event of ${sent} has ${has}, and ${tag.property} and the event's name are the same`);
}

/** Notes the sentinel that ends a stream. Returns false for any other text. */
export function isSentinel(contract: AnyContract, open: Open, text: string): boolean {
  const sentinel = contract.operations[open.asked!.name]?.answer.stream?.sentinel;
  if (sentinel === undefined || text !== sentinel) return false;
  open.ended = "message";
  open.last = sentinel;
  return true;
}

/** The problem of a stream that is over without one of its end messages. */
export function missingEnd(contract: AnyContract, open: Open): string | undefined {
  const { asked, status = 0, ended, answer = [], hasGaps } = open;
  const { stream, none } = (asked && status < 400 && contract.operations[asked.name]?.answer) || {};
  if (!stream || status === none || ended !== undefined || hasGaps || stream.closedBy !== undefined) return undefined;
  if (stream.lines === undefined && !isEventStream(answer)) return undefined;
  const ends = [...(stream.end ?? []), ...(stream.mayEnd ?? []), stream.sentinel].filter(Boolean);
  return ends.length > 0 ? `${asked!.name} stopped without ${ends.join(" or ")}` : undefined;
}
