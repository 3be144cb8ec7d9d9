import type { Port } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { type Context, calledOf, type Handlers, refuseLeftOut } from "../call.js";
import { refuseWhileClosing } from "../http/dispatch.js";
import { WebRequest } from "../http/request.js";
import { addressOf } from "../memory.js";
import { converse } from "./converse.js";
import { SafePort } from "./socket.js";

/**
 * Holds a channel over a port that has no handshake, for a principal that the adapter knows. `call` closes when the conversation is over; the
 * promise resolves when its handlers have finished too.
 *
 * Rejects with what refuses the channel: `hooks.request`, a limit, or a handler that was left out.
 */
export async function carryChannel(
  context: Context,
  name: string,
  port: Port,
  principal: unknown,
  call: Scope,
): Promise<void> {
  const { callbacks, contract, ledger, ownerOf } = context;
  try {
    refuseWhileClosing(context);
    const owner = ownerOf(principal);
    ledger.take(owner, "call", call);
    ledger.hold(owner, call, (reason) => call.close(reason));
    const { origin } = addressOf(contract) ?? new URL("http://localhost");
    const request = new WebRequest(new Request(origin + contract.channels[name]!.path));
    const called = calledOf(context, name, {}, principal, request);
    await callbacks.request(call, called);
    refuseLeftOut(context, name);
    const scope = call.child("channels");
    scope.add(() => call.close(scope.reason));
    ledger.take(owner, "stream", scope);
    const running = new Set<Promise<unknown>>();
    const handlers = { ...context.handlers, [name]: watched(context.handlers[name]!, running) };
    await converse({ ...context, handlers }, called, new SafePort(port), scope);
    await Promise.allSettled(running);
  } catch (error) {
    call.close(error);
    throw error;
  }
}

type Handler = Handlers[string];

/** The handler of a channel, or those of its methods, each of whose calls is among `running` until it has settled. */
function watched(handler: Handler | Handlers, running: Set<Promise<unknown>>): Handler {
  if (typeof handler !== "function")
    return Object.fromEntries(
      Object.entries(handler).map(([method, one]) => [method, one && watched(one, running)]),
    ) as unknown as Handler;
  return (...given) => {
    const handled = (async () => handler(...given))();
    running.add(handled);
    const forget = () => running.delete(handled);
    handled.then(forget, forget);
    return handled;
  };
}
