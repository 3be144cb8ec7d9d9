/** Everything outside the server that it calls. */
export const PORTS = [
  "log.open",
  "log.state",
  "log.read",
  "log.tail",
  "log.append",
  "log.trim",
  "log.close",
  "log.drop",
  "pubSub.publish",
  "pubSub.subscribe",
  "pubSub.unsubscribe",
  "authenticate",
  "identify",
  "hooks.request",
  "hooks.open",
  "hooks.message",
  "hooks.unknown",
  "hooks.done",
  "hooks.refuse",
  "hooks.close",
  "onError",
  "handler.call",
  "handler.first",
  "handler.later",
  "handler.return",
  "sink.write",
  "sink.end",
  "sink.cut",
  "socket.send",
  "socket.buffered",
  "socket.close",
  "socket.listen",
] as const;
export type PortName = (typeof PORTS)[number];

export const FAULTS = ["throws", "rejects", "never settles", "settles late", "settles after abort"] as const;
export type Fault = (typeof FAULTS)[number];

export const CARRIERS = ["operation", "SSE on POST", "SSE on GET", "channel"] as const;
export type Carrier = (typeof CARRIERS)[number];

export const MODES = ["base", "resume", "cluster"] as const;
export type Mode = (typeof MODES)[number];

export interface Case {
  readonly port: PortName;
  readonly fault: Fault;
  readonly carrier: Carrier;
  readonly mode: Mode;
}

/** All combinations that exist. */
export function casesOf(port: PortName): Case[] {
  return FAULTS.flatMap((fault) =>
    CARRIERS.flatMap((carrier) => MODES.map((mode) => ({ port, fault, carrier, mode }))),
  ).filter(exists);
}

export const isStream = (carrier: Carrier): boolean => carrier.startsWith("SSE");

/** The rule that skips: what the carrier or the mode never calls, and what a type does not let happen. */
function exists({ port, fault, carrier, mode }: Case): boolean {
  const [owner, name] = port.split(".");
  // The server reads by `tail` alone: `read` is for tools.
  if (port === "log.read") return false;
  if (owner === "log") return mode !== "base" && isStream(carrier);
  if (owner === "pubSub") return mode === "cluster";
  if (owner === "sink") return isStream(carrier);
  if (owner === "socket") return carrier === "channel";
  // An operation is neither opened nor closed, and what it reads and answers are no messages.
  if (port === "hooks.open" || port === "hooks.close" || port === "hooks.message") return carrier !== "operation";
  if (port === "hooks.done") return carrier === "operation";
  // A client sends messages on a channel only.
  if (port === "hooks.unknown") return carrier === "channel";
  if (owner !== "handler") return true;
  // A generator's call gives the generator at once, or throws.
  if (name === "call") return !isStream(carrier) || fault === "throws";
  // An operation has one step, and a channel's first step is its call; only a generator's `return` is called.
  if (carrier === "operation") return false;
  return isStream(carrier) || name === "later";
}
