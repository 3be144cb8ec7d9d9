import type { AnyContract, Port } from "@parlance/wire";
import { brief, misuse, Refusal, type Violation } from "@parlance/wire/errors";
import { type AnyChannel, type Link, link } from "@parlance/wire/link";
import { type RpcHandlers, rpcPeer, violationLog } from "@parlance/wire/rpc";
import { ANSWER_WITHIN, type ConnectOptions, MAX_MESSAGE_SIZE, MAX_QUEUED, paceOf } from "../options.js";

/** Opens the client's side of a channel with methods over a port. The caller's signal ends it. */
export function linkMethods(
  contract: AnyContract,
  connection: ConnectOptions,
  channel: string,
  signal: AbortSignal,
  port: Port,
  handlers: RpcHandlers,
): Link {
  assertHandlers(contract, handlers);
  const maxQueued = connection.maxQueued ?? MAX_QUEUED;
  const peer = rpcPeer({
    contract,
    channel,
    side: "client",
    read: contract,
    handlers,
    cancelWithin: Math.min(connection.answerTimeout || ANSWER_WITHIN, ANSWER_WITHIN),
    maxQueued,
    refuse: refusalOf,
    failed: (error) => made.fail(error, 1011, "a handler failed"),
    onViolation: connection.onViolation ?? printed(`a frame of ${contract.name}.${channel}`),
  });
  const made = link(contract, port, {
    channel,
    side: "client",
    ...peer.options,
    maxSize: connection.maxMessageSize ?? MAX_MESSAGE_SIZE,
    maxQueued,
    pace: paceOf(connection),
    onUnknown: connection.onUnknown,
  });
  peer.attach(made);
  signal.addEventListener("abort", () => made.fail(signal.reason, 1000, "aborted"));
  const { close, closed, [Symbol.asyncDispose]: dispose } = made.channel;
  const { call, notify } = peer;
  // Leaves out the reading methods of other channels: they would take messages from the handlers.
  const opened = { call, notify, close, closed, [Symbol.asyncDispose]: dispose };
  return { ...made, channel: opened as Partial<AnyChannel> as AnyChannel };
}

/** The default of `onViolation`: the channel goes on, and its user can see why a message is missing. */
function printed(what: string): (violation: Violation) => void {
  const log = violationLog("@parlance/client");
  return (violation) => log(violation, what);
}

/** The agent gets the reason in the editor's own words: both belong to one user. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal(error instanceof Error ? error.message : brief(String(error)), { code: "internal_error" });
}

function assertHandlers({ name, methods = {}, rpc }: AnyContract, handlers: RpcHandlers): void {
  if (typeof handlers !== "object" || handlers === null) throw misuse(`${name} needs an object of handlers`);
  for (const [method, handler] of Object.entries(handlers)) {
    if (handler !== undefined && typeof handler !== "function")
      throw misuse(`the handler \`${method}\` of ${name} must be a function, not ${typeof handler}`);
    const isKnown = Object.hasOwn(methods, method) && methods[method]!.by !== "client";
    if (!isKnown && !(rpc?.extensions !== undefined && method.startsWith(rpc.extensions)))
      throw misuse(`${name} has no method \`${method}\` that a client answers`);
  }
}
