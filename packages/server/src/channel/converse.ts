import {
  type AnyContract,
  type AnyMessage,
  Disconnected,
  fault,
  faultMessage,
  type Port,
  Refusal,
  Violation,
} from "@parlance/wire";
import { brief, MAX_NAME } from "@parlance/wire/errors";
import { type AnyChannel, Busy, type Link, link, PacedPort } from "@parlance/wire/link";
import { type Scope, within } from "@parlance/wire/scope";
import { type Context, calledOf, callOf, enter, refusalOf, refuseLeftOut, reportHidden, sessionOf } from "../call.js";
import { ignorable, readThrown } from "../callback.js";
import { decoderFor, encoderFor } from "../codecs.js";
import type { Called, How } from "../hooks.js";
import type { HttpRequest } from "../http/request.js";
import { refuse } from "../http/response.js";
import { MIN_SHARE, type Tally, weighFrame } from "../ledger.js";
import type { Accepted, Sent } from "../ports.js";
import { cancelled, closing, isRevoked, REVOKED } from "../reason.js";
import { handling } from "./handling.js";
import { type Frames, methodsOf } from "./methods.js";

const BUSY = "Another operation is already in progress. Please wait.";

/** Authenticates a request for a channel and checks its input. Throws what refuses it. */
export async function callChannel(
  context: Context,
  name: string,
  path: Readonly<Record<string, string>>,
  request: HttpRequest,
  call: Scope,
): Promise<Called> {
  const principal = await enter(context, request, call);
  const { unbind } = await context.accepts();
  const { input } = unbind([name], { path, query: request.url.searchParams });
  const called = calledOf(context, name, input, principal, request);
  await context.callbacks.request(call, called);
  refuseLeftOut(context, name);
  return called;
}

/** Turns any error into the refusal of a handshake. */
export function refuseSocket(context: Context, request: HttpRequest, error: unknown, name?: string): Accepted {
  const { headers } = refuse(context, request, error, name);
  return { refused: { ...fault(context.contract, name, refusalOf(error)), headers } };
}

/** Runs a channel's conversation over a port until it closes. `scope` is the channel's, and closes with it. Never rejects. */
export async function converse(context: Context, called: Called, port: Port, scope: Scope): Promise<void> {
  try {
    await hold(context, called, port, scope);
  } catch (error) {
    context.callbacks.report(error, "a channel", called.operation);
    port.close(1011, "the server failed");
    scope.close(error);
  }
}

async function hold(context: Context, called: Called, port: Port, scope: Scope): Promise<void> {
  const { callbacks, handlers, shutdown } = context;
  const name = called.operation;
  const peer = context.contract.methods && (await methodsOf(context, called, scope));
  const wire = await linked(context, called, port, scope, peer?.options);
  const { channel } = wire;
  peer?.attach(wire, (sent) => pass(sent, wire, port));
  channel.closed.then(
    () => scope.close(shutdown.draining ? closing() : cancelled()),
    (error) => scope.close(error),
  );
  shutdown.onDrain(scope, () => void channel.close(1001, "the server is closing"));
  scope.add(() => isRevoked(scope.reason) && wire.fail(scope.reason, 1008, REVOKED));
  callbacks.open(called);
  let how: How | undefined;
  scope.add(() => callbacks.close(called, how ?? endOf(scope.reason)));
  const { served, handles } = handling(limited(context, called, channel), (error, about) => {
    if (scope.closed || context.contract.channels[name]!.fault === undefined) throw error;
    reportFailure(context, called, error);
    sendFault(context, name, wire, refusalOf(error), about, wire.send);
  });
  try {
    // Handlers of methods are called by the peer, until the channel ends.
    const handler = (peer ? () => new Promise(() => {}) : handlers[name]) as (
      input: unknown,
      channel: AnyChannel,
      call: unknown,
    ) => unknown;
    const handled = (async () => handler(called.input, served, callOf(context, called, scope)))();
    // A handler that ignores its signal is not waited for.
    await new Promise<unknown>((resolve, reject) => {
      scope.add(() => resolve(undefined));
      handled.then(resolve, reject);
    });
    if (scope.closed) handled.catch((error) => isAbort(error) || reportHidden(context, error, "handler", name));
  } catch (error) {
    if (!scope.closed) {
      how = "failed";
      failed(context, called, wire, error, handles());
    }
  }
  await finish(context, wire, port, scope);
}

/** How a channel has ended whose handler did not fail. */
function endOf(reason: unknown): How {
  if (reason instanceof Disconnected) return "gone";
  return reason === undefined || isAbort(reason) ? "done" : "failed";
}

/** Wraps a channel for its handler: an unanswered ask ends after `askWithin`. */
function limited(
  { contract, ledger, limits, ownerOf, root }: Context,
  { principal }: Called,
  channel: AnyChannel,
): AnyChannel {
  const limit = limits.askWithin || Number.POSITIVE_INFINITY;
  const ask: AnyChannel["ask"] = (message, { signal, onPart } = {}) =>
    // Under the root, because a channel that ends rejects its asks with its own error.
    ignorable(
      within(root, limit, `${contract.name}: the answer to ${message?.type}`, (attempt) => {
        ledger.take(ownerOf(principal), "ask", attempt);
        if (signal) attempt.onAbort(signal, () => attempt.close(signal.reason));
        return channel.ask(message, { signal: attempt.signal, onPart });
      }),
    );
  return { ...channel, ask };
}

/** Whether an error follows from the end of the channel itself. */
function isAbort(error: unknown): boolean {
  const name = readThrown(() => (error as { name?: unknown } | null | undefined)?.name, undefined);
  return name === "AbortError" || name === "Disconnected";
}

function reportFailure(context: Context, called: Called, error: unknown): void {
  context.callbacks.refuse(called, refusalOf(error), error, called.operation);
  reportHidden(context, error, "handler", called.operation);
}

/** Sends the handler's failure as the protocol's fault, where it has one, and closes. */
function failed(context: Context, called: Called, wire: Link, error: unknown, about?: string): void {
  reportFailure(context, called, error);
  try {
    sendFault(context, called.operation, wire, refusalOf(error), about);
  } catch {
    // A fault cannot be sent yet; the close code reports the failure.
  }
  wire.fail(error, 1011, "the handler failed");
}

/** Closes the channel after its reader has every message. A peer that does not confirm in time is cut. */
async function finish({ limits, root }: Context, wire: Link, port: Port, scope: Scope): Promise<void> {
  try {
    const closed = wire.channel.close();
    // A reader that stalls ends this wait.
    await within(root, Number.POSITIVE_INFINITY, "sending", () => wire.flushed());
    await within(root, limits.socketWithin, "closing the channel", closed);
  } catch {
    port.cut?.();
  }
  scope.close();
}

/** Sends a refusal as the channel's message for it, about a message of the client where the protocol has a place for that. */
function sendFault(
  { contract }: Context,
  channel: string,
  wire: Link,
  refusal: Refusal,
  about?: string,
  send: (message: AnyMessage) => unknown = wire.say,
): void {
  const { fault } = contract.channels[channel]!;
  if (fault === undefined) return;
  const message = faultMessage(contract, fault, refusal);
  const echo = echoOf(contract, fault);
  if (echo === undefined || about === undefined) return void send(message);
  try {
    send({ ...message, [echo]: about });
  } catch (error) {
    // The name of another message is not the name of a request (based: `edit_error`).
    if (!(error instanceof Violation)) throw error;
    send(message);
  }
}

/** What a channel may queue, as a part of what its principal holds. */
function budgetOf({ ledger, limits, ownerOf }: Context, { principal }: Called, port: Port, scope: Scope) {
  const owner = ownerOf(principal);
  const held = ledger.held(owner, scope);
  let received: Tally | undefined;
  /** Counts a large frame as received until its message is handled: the first one of each channel fits into any queue. */
  const hold = (size: number): (() => void) | undefined => {
    if (size <= MIN_SHARE) return undefined;
    received ??= ledger.received(owner, scope);
    received.add(size);
    return () => received!.add(-size);
  };
  const pace = ledger.pace(owner);
  const paced = port.room ? port : new PacedPort(port, pace);
  return {
    paced,
    frames: { pace, weigh: weighFrame, hold },
    maxQueued: () => ledger.allowance(owner, limits.maxQueued),
    note: (unread: number) => held.set((paced.buffered?.() ?? 0) + unread),
  };
}

/** A link over the port that reports to hooks and reads the channel's session. */
async function linked(context: Context, called: Called, port: Port, scope: Scope, own?: Frames): Promise<Link> {
  const { contract, options, callbacks, limits, sessions } = context;
  const name = called.operation;
  const { paced, ...budget } = budgetOf(context, called, port, scope);
  const described = contract.channels[name]!;
  const { checks, reads } = await context.accepts();
  const report = (refusal: Refusal, about?: string): void => sendFault(context, name, wire, refusal, about);

  const key = sessionOf(context, called);
  let joined = false;
  const stopAttending = key === undefined ? () => {} : sessions.attend(key, () => void wire.channel.close(), scope);
  /** Whether the client has sent the message that opens the channel. */
  let opened = false;
  /** Joins the session once the protocol's opening message was sent. */
  function join(): void {
    if (key === undefined || joined || scope.closed) return;
    joined = true;
    const send = (sent: Sent) => pass(sent, wire, paced);
    sessions.subscribe(key, { send, ask: wire.channel.ask, end: (error) => endWith(wire, error) }, scope);
    stopAttending();
  }

  const wire: Link = link(contract, paced, {
    channel: name,
    side: "server",
    encode: encoderFor(contract, {
      side: "server",
      names: described.server,
      checks: contract.checks,
      profile: options.profile,
    }),
    decode: decoderFor(contract, { side: "client", names: described.client, checks, reads }),
    maxSize: limits.maxMessageSize,
    get maxQueued() {
      return budget.maxQueued();
    },
    ...budget.frames,
    onMessage(message, from) {
      budget.note(wire.queued);
      if (from === "client") opened = true;
      const refusal = callbacks.message(called, message, from);
      // The handler's own message is not sent: its `send` or `ask` throws.
      if (refusal && from === "server") throw refusal;
      if (refusal) {
        callbacks.refuse(called, refusal, refusal, name);
        if (described.fault === undefined) wire.fail(refusal, 1008, "refused");
        else report(refusal, message.type);
        return false;
      }
      if (from === "server" && !joined && message.type !== described.fault) queueMicrotask(join);
    },
    busy: refusesBusy(contract)
      ? new Busy(contract, "client", (fault) => faultMessage(contract, fault, new Refusal(BUSY, { status: 409 })))
      : undefined,
    onUnknown(unknown) {
      callbacks.unknown(called, unknown);
      // Where answers come by order a request waits for one; elsewhere a newer peer may send more than this contract defines.
      if (!answersByOrder(contract)) return;
      const { what, name } = namedBy(contract, described.client, unknown.body);
      report(new Refusal(what, { status: 400 }), name);
    },
    onViolation(violation) {
      const refusal = refusalOf(violation);
      callbacks.refuseFrame(called, refusal, violation);
      // A channel without a message for it has its close code alone.
      if (violation.code === "too_large" || described.fault === undefined) throw violation;
      try {
        report(refusal, violation.subject);
      } catch {
        // The channel is closing.
        throw violation;
      }
      // A client that has not opened the channel gets the sentence, and then the close.
      if (!opened && described.open?.client !== undefined) throw violation;
    },
    ...own,
  });
  if (described.open?.server === undefined) join();
  return wire;
}

/** Ends a channel with its session: in order, or because the session has lost messages for this reader. */
function endWith(wire: Link, error: unknown): void {
  if (error === undefined) return void wire.channel.close();
  if (isRevoked(error)) return wire.fail(error, 1008, REVOKED);
  // A client that resumes then asks what is missing, and gets a `gap`.
  wire.fail(error, 1012, "the session has lost messages");
}

/** Sends a session's message. A reader too far behind to take it is cut, because it would miss it. */
function pass(sent: Sent, wire: Link, port: Port): Promise<void> | undefined {
  try {
    const room = wire.send(sent.message, sent);
    sent.had();
    return room;
  } catch (error) {
    if (error instanceof Disconnected && error.code === "slow_reader") {
      wire.fail(error, 1013, "slow reader");
      port.cut?.();
    }
    throw error;
  }
}

/** How an unknown message is refused: "Unknown action: xyz", with the action, where a property names messages. */
function namedBy(contract: AnyContract, names: readonly string[], body: unknown): { what: string; name?: string } {
  const property = tagProperty(contract, names);
  const name = property === undefined ? undefined : (body as Readonly<Record<string, unknown>>)[property];
  if (typeof name !== "string") return { what: "the message is unknown" };
  return { what: `Unknown ${property}: ${brief(name, MAX_NAME)}`, name };
}

/** The property that names all of these messages on the wire. */
function tagProperty({ tag, messages }: AnyContract, names: readonly string[]): string | undefined {
  if (tag.in === "property") return tag.property;
  const [first, ...rest] = names.map((name) => Object.keys(messages[name]?.shape?.const ?? {}));
  return first?.find((property) => rest.every((properties) => properties.includes(property)));
}

/** The property in which a fault names the message that it is about. */
function echoOf(contract: AnyContract, message: string): string | undefined {
  return contract.exchanges?.flatMap(({ answers }) => answers).find((answer) => answer.message === message)?.echo;
}

function answersByOrder({ exchanges = [] }: AnyContract): boolean {
  return exchanges.some(({ by, key }) => by === "client" && key === undefined);
}

function refusesBusy({ exchanges = [] }: AnyContract): boolean {
  return exchanges.some(({ busy }) => busy !== undefined);
}
